#!/usr/bin/env bash
# Python 3.10 to 3.13: email.utils reads 10:00 PM as ten in the morning.
#
# `parsedate_to_datetime` is made for dates of mails (RFC 2822), which have 24 hours, but it accepts
# others: what follows the time is ignored unless it is a zone. A date with “PM” is read without an
# error, twelve hours early, so that rows that are sorted by time change their order.
set -euo pipefail
unset PYTHONPATH
python3 - <<'PYTHON'
import sys
from email.utils import parsedate_to_datetime

texts = ("1 May 2024 10:00 PM", "1 May 2024 11:00 AM")
times = [parsedate_to_datetime(text) for text in texts]
print("Python", ".".join(map(str, sys.version_info[:2])))
for text, time in zip(texts, times):
    print(text, "is read as", time.strftime("%H:%M"))
assert [time.hour for time in times] == [10, 11] and times[0] < times[1]
try:
    parsedate_to_datetime("1 May 2024 25:00")
except ValueError:
    print("1 May 2024 25:00 is refused")
PYTHON
# Output seen:
# Python 3.11
# 1 May 2024 10:00 PM is read as 10:00
# 1 May 2024 11:00 AM is read as 11:00
# 1 May 2024 25:00 is refused
