"""Hierarchical classification in the window."""

from collections.abc import Iterator, Mapping

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput
from app.tasks.text_classification import MAX_BARS, ClassesView
from app.translation import marked, tr
from app.widgets.charts.bars import Bar, percentage
from app.widgets.results.confusion import LevelsPicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.label_table import LabelTablePicture
from app.widgets.results.prediction_sets import PredictionSetsPicture
from app.widgets.results.reliability import ReliabilityPicture
from app.widgets.text.labels import Text
from engine.config.levels import Levels, Node, ancestors
from engine.messages.explore.prediction import Predicted

INDENT = "    "


class PathsView(ClassesView):
    """Nodes as a tree of bars: the predicted path, and the siblings of its nodes."""

    def __init__(self) -> None:
        sure = Text("", "strong", selectable=True)
        super().__init__(sure)
        self.sure = sure

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        super().show_prediction(prediction, inputs)
        ranked = [(item.label, item.probability) for item in prediction.predictions[0].ranked]
        hierarchy = Levels([label for label, _ in ranked])
        nodes, path = hierarchy.probabilities(ranked), hierarchy.path(ranked[0][0])
        ends = {hierarchy.path(label): probability for label, probability in ranked}
        self.bars.show_bars([*_tree(nodes, ends, path)][:MAX_BARS])
        steps = (f"{node[-1]} {percentage(nodes[node])}" for node in ancestors(path))
        self.verdict.setText(" > ".join(steps))
        least = prediction.unsure_below
        likely = [node for node in ancestors(path) if nodes[node] >= least]
        text = self.tr("Deepest node with a probability of {0} or more: {1}")
        name = hierarchy.name(likely[-1]) if likely else self.tr("none")
        self.sure.setText(text.format(percentage(least), name))
        self.sure.setVisible(least > 0)

    def _note(self, count: int) -> str:
        return self.tr(
            "The probability of a node is the sum of the paths below it. The most likely node of "
            "each level is opened."
        )


def _tree(nodes: Mapping[Node, float], ends: Mapping[Node, float], path: Node) -> Iterator[Bar]:
    """The children of each node of a path, the most likely first, from the top level down.

    `ends`: the probability of each path that is a label.
    """

    def below(parent: Node) -> Iterator[Bar]:
        level = len(parent)
        children = [node for node in nodes if len(node) == level + 1 and node[:-1] == parent]
        if children and parent in ends:
            text = INDENT * level + tr("ends here")
            yield Bar(text, ends[parent], emphasised=parent == path)
        for node in sorted(children, key=nodes.__getitem__, reverse=True):
            is_on_path = node == path[: level + 1]
            yield Bar(INDENT * level + node[-1], nodes[node], emphasised=is_on_path)
            if is_on_path:
                yield from below(node)

    return below(())


class HierarchicalClassificationPart(TaskPart):
    kind = "hierarchical_classification"
    view = PathsView
    pictures = (
        LevelsPicture,
        LabelTablePicture,
        ReliabilityPicture,
        CoveragePicture,
        PredictionSetsPicture,
        LengthPicture,
    )
    purpose = marked("One path of a hierarchy: sport > football > cup, codes with subcodes.")
    scene = Scene("[CLS] the cup final [SEP]", 4, 0, marked("label"), "sport > cup")

    def outputs(self, count: int) -> str:
        return tr("%n path(s)", count)
