"""Attribution of a prediction to words, its faithfulness, and the effect of edits."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import TextQuestion, Token
from engine.messages.question import Answer, PartAnswer

Method = Literal["occlusion", "integrated_gradients", "input_x_gradient", "rollout"]
Baseline = Literal["mask", "pad", "zero"]
MIN_POINTS, MAX_POINTS = 32, 256  # on the path of integrated gradients
SUM_TOLERANCE = 0.01  # of the sum of integrated gradients, as a fraction of f(x) − f(b)


class Explained(Message):
    """The explained quantity: a logit, the number of a regression, or a difference of two logits.

    `position` is a token if the logit belongs to one: a tag, the first or last token of an answer,
    or a masked token. `against` is the label it is compared with.
    """

    label: str = ""
    against: str = ""
    position: int | None = None
    score: float


class AboutTarget(TextQuestion):
    """A question about one logit of a text.

    `head` is the task head, or the head of masked tokens. `label` is a class, a label,
    an ending, a tag, “start” or “end” of an answer, or a token; empty means the predicted one. With
    `against`, the difference “label rather than against” is meant.
    """

    head: Literal["task", "mlm"] = "task"
    label: str = ""
    against: str = ""
    position: int | None = Field(None, description="Of a token; None: the predicted one.")
    endings: tuple[str, ...] = Field((), description="To choose from, for multiple choice.")


class WordEffect(Message):
    """A word of a text, in characters, and the fall of the score without it.

    Above 0 the word supports the explained label, below 0 it opposes it.
    """

    text: str
    segment: int
    start: int
    end: int
    effect: float


class Attributed(PartAnswer):
    """The effects of the words; above 0 a word supports the explained label, below 0 it opposes it.

    `effects` has one number for each token, or for occlusion one for each word in `words`, as far
    as they are known: those of earlier slices and of this one. `next` and `points` are where to
    continue, None at the end.
    """

    kind: Literal["attributed"] = "attributed"
    tokens: tuple[Token, ...]
    explained: Explained
    words: tuple[WordEffect, ...]
    effects: tuple[float, ...] = ()
    baseline_score: float | None = Field(
        None, description="The score of the baseline, for integrated gradients."
    )
    done: int = Field(0, description="Words, or points of the path, that are computed.")
    points: int = Field(0, description="Words in the input, or points of the whole path.")

    @property
    def others(self) -> float:
        """Sum of the effects of tokens that are no words: special and masked ones."""
        return sum(self.effects) - sum(word.effect for word in self.words) if self.effects else 0.0

    @property
    def difference(self) -> float | None:
        """f(x) − f(baseline) − the sum of all effects; None without a baseline."""
        if self.baseline_score is None:
            return None
        return self.explained.score - self.baseline_score - sum(self.effects)


class Attribute(AboutTarget):
    """Attribute a logit to the words.

    - occlusion: the fall of the logit when the word is replaced by [MASK], all its tokens together
      (Zeiler and Fergus 2014).
    - input_x_gradient: token embedding × gradient of the logit, summed over dimensions (Shrikumar
      et al. 2016, §3).
    - integrated_gradients: (x − b) × the mean gradient on the straight path from the baseline b to
      the token embeddings x (Sundararajan et al. 2017, §3), at Gauss–Legendre points: 32, doubled
      up to 256 while the effects differ by more than 1 % from f(x) − f(b). Special tokens, masked
      tokens, positions and segments are the same all along the path.
    - rollout: attention rollout to the token that the logit is computed from (Abnar and Zuidema
      2020); not signed, of no logit, not an explanation.

    This is slow, so an answer covers a part, which `start`, `points` and `so_far` continue.
    """

    answered_by: ClassVar[type[Answer]] = Attributed
    kind: Literal["attribute"] = "attribute"
    method: Method = "occlusion"
    baseline: Baseline = "mask"
    start: int = Field(0, ge=0, description="The first word or point that is not yet computed.")
    points: int = Field(MIN_POINTS, ge=1, le=MAX_POINTS)
    so_far: tuple[float, ...] = Field((), description="`effects` of the previous answer.")


class Faithfulness(Message):
    """Faithfulness of one order of the words; means over the numbers of masked or kept words."""

    comprehensiveness: float
    sufficiency: float


class FaithfulnessChecked(PartAnswer):
    """The fall of the score when words are masked in this order, and in random orders."""

    kind: Literal["faithfulness_checked"] = "faithfulness_checked"
    own: Faithfulness | None = Field(None, description="None until all inputs are computed.")
    random: tuple[Faithfulness, ...] = ()
    scores: tuple[float, ...] = Field((), description="Of the computed inputs.")
    total: int = Field(description="Inputs to compute.")


class CheckFaithfulness(AboutTarget):
    """Check whether the words with large effects matter (DeYoung et al. 2020, §4.2).

    Comprehensiveness is f(x) − f(x without the first words), sufficiency f(x) − f(only the first
    words), each the mean over the first 1, 5, 10, 20 and 50 % of the words, at least one. Words are
    masked and not removed, so that all others keep their positions, and f is the logit.
    """

    answered_by: ClassVar[type[Answer]] = FaithfulnessChecked
    kind: Literal["check_faithfulness"] = "check_faithfulness"
    order: tuple[int, ...] = Field(description="Numbers of the words, the most important first.")
    start: int = Field(0, ge=0, description="The first input that is not yet computed.")
    so_far: tuple[float, ...] = Field((), description="Scores of the earlier inputs.")


class Edit(Message):
    """Replaces the characters from `start` to `end` of a text."""

    segment: int = 0
    start: int
    end: int
    text: str = ""


class EditScored(Message):
    """An edited text or pair, and its score.

    `problem` says why there is no score.
    """

    text: str
    pair: str | None = None
    score: float = 0.0
    predicted: str = Field("", description="What the model predicts for it; empty for a number.")
    problem: str = ""


class EditsScored(Answer):
    """One result for each edit."""

    kind: Literal["edits_scored"] = "edits_scored"
    explained: Explained
    predicted: str = ""
    edits: tuple[EditScored, ...]


class ScoreEdits(AboutTarget):
    """Score the text after each edit by itself."""

    answered_by: ClassVar[type[Answer]] = EditsScored
    kind: Literal["score_edits"] = "score_edits"
    edits: tuple[Edit, ...]


class WordsSuggested(Answer):
    """The suggested words, the most likely first."""

    kind: Literal["words_suggested"] = "words_suggested"
    words: tuple[str, ...]


class SuggestWords(TextQuestion):
    """Suggest one-token words that a pre-trained model predicts in place of these characters.

    `checkpoint` has an MLM head; it may be another model than the explained one. The present word,
    pieces of words, and tokens without letters are left out.
    """

    answered_by: ClassVar[type[Answer]] = WordsSuggested
    kind: Literal["suggest_words"] = "suggest_words"
    segment: int = 0
    start: int
    end: int
    top: int = Field(5, ge=1)
