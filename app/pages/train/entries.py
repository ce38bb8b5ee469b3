"""From what the library lists to what the wizard keeps."""

from app.library import DataEntry, ModelEntry
from app.pages.train.choices import Data, Model
from engine.config.dataset import StoredData


def data_of(entry: DataEntry) -> Data:
    fingerprint = entry.spec.fingerprint if entry.spec else ""
    return Data(entry.name, StoredData(folder=entry.folder, fingerprint=fingerprint), entry.spec)


def model_of(entry: ModelEntry) -> Model:
    return Model(entry.name, entry.path, entry.info)
