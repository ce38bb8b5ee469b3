"""`bert-studio fill` and `attention`: predictions at masks, and attention weights."""

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.naming import find_checkpoint
from engine.cli.options import AsJson, print_loading_notes
from engine.files.shipped import starter_model
from engine.phrases import phrase
from engine.system.terminal import echo, echo_error, echo_json

Model = Annotated[
    Path | None,
    typer.Option(
        help="A model or a run, by name or folder. Default: the starter model.",
        callback=find_checkpoint,
    ),
]


def fill(
    text: Annotated[
        str, typer.Argument(help="A text with one or more [MASK]; a RoBERTa has <mask>.")
    ],
    model: Model = None,
    top: Annotated[int, typer.Option(min=1, help="Number of predictions for each mask.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Predict the tokens behind [MASK]."""
    from engine.errors import StudioError
    from engine.explore.fill_mask import fill_mask
    from engine.messages.explore.fill_mask import FillMask
    from engine.models import checkpoint

    folder = model or starter_model()
    loaded = checkpoint.load(folder)
    print_loading_notes(loaded.report)
    mask = loaded.tokenizer.token(loaded.tokenizer.mask)
    if mask not in text:
        raise StudioError(
            "The text has no {mask}.", "Write {mask} where a token is to be predicted.", mask=mask
        )
    answer = fill_mask(loaded, FillMask(checkpoint=folder, text=text, top=top))
    if answer.truncated and not answer.predictions:
        raise StudioError(
            "The model reads the first {n:,} tokens, and {mask} comes after them.",
            "Shorten the text before {mask}.",
            n=len(answer.tokens),
            mask=mask,
        )
    _print_truncated(answer.truncated, len(answer.tokens))
    if as_json:
        masks = [
            {
                "position": position.first,
                "predictions": [
                    {"token": x.label, "probability": x.probability} for x in position.ranked
                ],
            }
            for position in answer.predictions
        ]
        tokens = [token.text for token in answer.tokens]
        facts = {
            "model": str(folder),
            "tokens": tokens,
            "truncated": answer.truncated,
            "masks": masks,
        }
        facts["causal"] = answer.causal
        facts["loading"] = loaded.report.to_json()
        echo_json(facts)
        return
    if answer.causal:
        echo_error("This is a left-to-right model: it predicts from the tokens before.")
    for number, position in enumerate(answer.predictions, start=1):
        if len(answer.predictions) > 1:
            echo(f"{mask} {number}:")
        for prediction in position.ranked:
            echo(f"{100 * prediction.probability:6.2f} %  {prediction.label}")


def _print_truncated(truncated: bool, tokens: int) -> None:
    if truncated:
        echo_error(
            phrase("note: truncated to the first {n:,} tokens, the model's maximum.", n=tokens)
        )


def attention(
    text: Annotated[str, typer.Argument(help="A text.")],
    out: Annotated[
        Path,
        typer.Option(
            help=(
                "Output file FILE.npy, float32 [layers, heads, tokens, tokens]: rows are query "
                "tokens, columns key tokens."
            )
        ),
    ],
    model: Model = None,
    pair: Annotated[str | None, typer.Option(help="A second text.")] = None,
) -> None:
    """Write the attention weights of every head, and print the tokens."""
    from engine.explore.attention import weights
    from engine.models import checkpoint
    from engine.tasks.inputs import encode_text
    from engine.tasks.similarity import save_array

    loaded = checkpoint.load(model or starter_model())
    print_loading_notes(loaded.report)
    tokens, array = weights(loaded, text, pair)
    _print_truncated(encode_text(loaded, text, pair).truncated, len(tokens))
    save_array(out, array)
    echo(" ".join(token.text for token in tokens))
    echo(f"{' x '.join(map(str, array.shape))} float32 written to {out}")
