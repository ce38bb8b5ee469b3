#!/usr/bin/env bash
# pyqtgraph 0.14.0, PySide6 6.10.1: downsampling in mode "peak" drops points and whole blocks.
#
# "peak" draws the minimum and maximum of each block of points. The points after the last whole block
# are not drawn: a curve that grows ends before its last value, and a spike in the last point is
# missing until the block is full. A NaN makes both numbers of its block NaN, so that the other
# values of the block, such as the spike before it, are missing for good.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyqtgraph==0.14.0 PySide6-Essentials==6.10.1 numpy==2.3.5 2> /dev/null
cd "$folder"
export QT_QPA_PLATFORM=offscreen
"$folder/venv/bin/python" - 2> /dev/null <<'PYTHON'
import numpy as np
import pyqtgraph

app = pyqtgraph.mkQApp()
plot = pyqtgraph.PlotWidget()
plot.resize(600, 300)
y = np.zeros(100_003)
y[50_000:50_002] = 5.0, np.nan
y[-1] = 9.0
item = plot.plot(y)
item.setDownsampling(ds=100, auto=False, method="peak")
x, drawn = item.getData()
print("last point", (len(y) - 1, y[-1]), "drawn as", (float(x[-1]), float(drawn[-1])))
print("largest values 5.0 and 9.0, largest drawn:", float(np.nanmax(drawn)))
print("NaN in the data:", int(np.isnan(y).sum()), "drawn:", int(np.isnan(drawn).sum()))
assert x[-1] < len(y) - 4 and np.nanmax(drawn) == 0 and np.isnan(drawn).sum() == 2
PYTHON
# Output seen:
# last point (100002, np.float64(9.0)) drawn as (99950.0, 0.0)
# largest values 5.0 and 9.0, largest drawn: 0.0
# NaN in the data: 1 drawn: 2
