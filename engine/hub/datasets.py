"""Data sets of the hub: their data files and splits.

Only data files are fetched, never scripts: those listed in `configs` of the card, or else found by
name. The download itself is in `download`.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from engine.checkpoints.needed import is_plain
from engine.config.dataset import SPLITS, SplitName
from engine.data.columns.names import split_from_name
from engine.data.formats.archives import logical_name
from engine.data.formats.sources import format_titles, is_data_file
from engine.errors import StudioError
from engine.files.untrusted import safe_name
from engine.hub import client
from engine.hub.download import plan_files
from engine.hub.fetched import PREFIX
from engine.messages.hub import Planned
from engine.phrases import join, phrase

DEFAULT = "default"  # the hub's name for the only subset
MAX_PARTS = 8  # folders and name of a file
MAX_FILES = 10_000
MAX_LISTED_NAMES = 20
ADDRESS = re.compile(
    r"(?P<name>[^/@\s]+(?:/[^/@\s]+)?)(?:/(?P<subset>[^@]+))?(?:@(?P<revision>\S+))?"
)
ADVICE = phrase("Names are written as owner/name, owner/name/subset or owner/name@revision.")


class Address(NamedTuple):
    """A data set as written by the user; unspecified parts are empty."""

    name: str
    subset: str = ""
    revision: str = ""


class Subset(NamedTuple):
    """The files of a subset, by the original names of its splits."""

    splits: dict[str, list[str]]
    is_default: bool = False


def parse_address(text: str) -> Address:
    """Parse “owner/name/subset@revision”, with or without “hub:”.

    Raises StudioError if it is malformed.
    """
    match = ADDRESS.fullmatch(text.strip().removeprefix(PREFIX).strip("/"))
    if match is None:
        raise StudioError(
            "“{name}” is not the name of a data set on the hub.", ADVICE, name=safe_name(text)
        )
    return Address(match["name"], match["subset"] or "", match["revision"] or "")


def plan(address: Address, folder: Path) -> Planned:
    """Plan the download of a data set into a folder below `folder`.

    If it has several subsets, none is named and none is the default, there are no files, but
    `subsets` to choose from.

    Raises StudioError if the hub cannot be reached, or has no readable file.
    """
    name, subset, revision = address
    with client.hub_errors(name, "dataset"):
        info = client.api().dataset_info(
            name, revision=revision or None, files_metadata=True, timeout=client.TIMEOUT
        )
    siblings = {item.rfilename: item for item in info.siblings or ()}
    sizes = {file: item.size or 0 for file, item in siblings.items() if is_plain(file, MAX_PARTS)}
    subsets = find_subsets(sizes, _configs(info.card_data))
    if not subsets:
        raise _no_data_error(name, list(siblings))
    chosen = subset or _default(subsets)
    if subset and subset not in subsets:
        raise StudioError(
            "{name} has no subset “{subset}”.",
            "Choose one of: {names}.",
            name=safe_name(name),
            subset=safe_name(subset),
            names=_list_names(subsets),
        )
    empty = plan_files(info, name, [], folder, "dataset")
    if not chosen:
        return empty.model_copy(update={"subsets": tuple(subsets)})
    splits, notes = assign_splits(subsets[chosen].splits)
    files = [siblings[file] for paths in splits.values() for file in paths]
    if len(files) > MAX_FILES:
        raise StudioError(
            "{name} has {count:,} files, more than the {maximum:,} that can be imported.",
            "Choose another data set, or a smaller subset.",
            name=safe_name(name),
            count=len(files),
            maximum=MAX_FILES,
        )
    planned = plan_files(info, name, files, folder, "dataset")
    return planned.model_copy(
        update={
            "subset": "" if chosen == DEFAULT else chosen,
            "subsets": tuple(subsets),
            "splits": {split: tuple(paths) for split, paths in splits.items()},
            "notes": (*planned.notes, *notes),
        }
    )


def find_subsets(sizes: Mapping[str, int], configs: list[dict[str, Any]]) -> dict[str, Subset]:
    """The subsets with readable files, by name; `sizes` has the bytes of each file.

    Those of the card; else the files of the type with the most bytes. If these are in folders
    SUBSET/SPLIT/FILE, each top folder is a subset.
    """
    data = [file for file in sizes if _is_data(file)]
    if subsets := _from_card(data, configs):
        return subsets
    kinds: dict[str, int] = {}
    for file in data:
        kinds[_kind(file)] = kinds.get(_kind(file), 0) + sizes[file]
    kind = max(kinds, key=lambda k: kinds[k], default="")
    files = [file for file in data if _kind(file) == kind]
    parts = [PurePosixPath(file).parts for file in files]
    is_nested = all(len(path) > 2 and split_from_name(path[-2].lower()) for path in parts)
    subsets = {}
    for file, path in zip(files, parts, strict=True):
        subset = subsets.setdefault(path[-3] if is_nested else DEFAULT, Subset({}))
        subset.splits.setdefault(_title(file), []).append(file)
    return subsets


def assign_splits(titles: Mapping[str, list[str]]) -> tuple[dict[SplitName, list[str]], list[str]]:
    """The files of each standard split, and notes on those that are left out.

    If no split is named for training, the first one with an unknown name is used for it.
    """
    by_title = {title: parse_split(title) for title in titles}
    if "train" not in by_title.values():
        first = next((title for title, split in by_title.items() if split is None), None)
        first = next(iter(titles)) if first is None else first
        by_title[first] = "train"
    splits: dict[SplitName, list[str]] = {}
    for split in SPLITS:
        files = [file for title in titles if by_title[title] == split for file in titles[title]]
        if files:
            splits[split] = files
    skipped = [f"“{safe_name(title)}”" for title, split in by_title.items() if split is None]
    if not skipped:
        return splits, []
    return splits, [phrase("Splits that are left out: {names}.", names=join(", ", skipped))]


def parse_split(title: str) -> SplitName | None:
    """Find the split by the first known word of a name: validation for validation_matched."""
    words = re.split(r"[\W_\d]+", title.lower())
    return next((split for split in map(split_from_name, words) if split is not None), None)


def _title(file: str) -> str:
    """The split in the name of a file, or else of the nearest folder; “rows” without any."""
    path = PurePosixPath(file)
    names = (Path(logical_name(Path(path.name))).stem, *reversed(path.parts[:-1]))
    split = next((name for name in names if parse_split(name) is not None), "")
    return parse_split(split) or "rows" if split else "rows"


def _is_data(file: str) -> bool:
    """True if a file can be data, by its name; Markdown files on the hub are cards."""
    return is_data_file(Path(file)) and not file.lower().endswith(".md")


def _kind(file: str) -> str:
    return PurePosixPath(logical_name(Path(file))).suffix.lower()


def _default(subsets: Mapping[str, Subset]) -> str:
    """The default subset; empty if it is ambiguous."""
    if len(subsets) == 1:
        return next(iter(subsets))
    defaults = [name for name, subset in subsets.items() if subset.is_default]
    return defaults[0] if defaults else DEFAULT if DEFAULT in subsets else ""


def _configs(card: Any) -> list[dict[str, Any]]:
    configs = getattr(card, "configs", None)
    return [item for item in configs if isinstance(item, dict)] if isinstance(configs, list) else []


def _from_card(data: list[str], configs: list[dict[str, Any]]) -> dict[str, Subset]:
    subsets: dict[str, Subset] = {}
    for config in configs:
        folder = config.get("data_dir")
        base = f"{folder.strip('./')}/" if isinstance(folder, str) and folder.strip("./") else ""
        splits: dict[str, list[str]] = {}
        for split, pattern in _patterns(config.get("data_files")):
            paths = splits.setdefault(split, [])
            paths += [file for file in _matching(base + pattern, data) if file not in paths]
        if not splits and base:
            for file in data:
                if file.startswith(base):
                    splits.setdefault(_title(file), []).append(file)
        splits = {split: files for split, files in splits.items() if files}
        if splits:
            name = str(config.get("config_name") or DEFAULT)
            subsets[name] = Subset(splits, config.get("default") is True)
    return subsets


def _patterns(data_files: Any) -> Iterable[tuple[str, str]]:
    """Each split with a pattern of its files, from every form allowed in a card."""
    match data_files:
        case str():
            yield "train", data_files
        case dict():
            for split, patterns in data_files.items():
                for pattern in patterns if isinstance(patterns, list) else [patterns]:
                    if isinstance(pattern, str):
                        yield str(split), pattern
        case list():
            for item in data_files:
                if isinstance(item, dict):
                    yield from _patterns({item.get("split", "train"): item.get("path")})
                else:
                    yield from _patterns(item)


def _matching(pattern: str, files: list[str]) -> list[str]:
    """The files that match a pattern, in order: “*” within a name, “**” across folders."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./"))
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = re.compile("".join(wildcards.get(part) or re.escape(part) for part in parts))
    return sorted(file for file in files if expression.fullmatch(file))


def _list_names(names: Iterable[str]) -> str:
    listed = list(names)
    more = ", …" if len(listed) > MAX_LISTED_NAMES else ""
    return ", ".join(safe_name(name) for name in listed[:MAX_LISTED_NAMES]) + more


def _no_data_error(name: str, files: list[str]) -> StudioError:
    if any(file.endswith(".py") for file in files):
        return StudioError(
            "{name} has only a loading script, and no code of the hub is run here.",
            "The hub makes a copy of many data sets in Parquet: try {name}@refs/convert/parquet.",
            name=safe_name(name),
        )
    return StudioError(
        "{name} has no file that can be read here.",
        "These can: {formats}.",
        name=safe_name(name),
        formats=format_titles(),
    )
