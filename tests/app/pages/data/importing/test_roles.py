"""Every column of a mapping can be chosen, and no column plays two roles."""

from dataclasses import fields

from app.pages.data.importing.roles import Roles
from app.pages.data.importing.sections import SEVERAL
from engine.config.dataset import Mapping


def test_every_role_of_a_mapping_can_be_chosen() -> None:
    assert {field.name for field in fields(Roles)} == set(Mapping.model_fields)
    assert SEVERAL == ("flags", "endings")


def test_roles_become_a_mapping_once_they_are_whole() -> None:
    assert Roles().mapping() is None
    assert Roles("text", label="text").mapping() is None
    whole = Mapping(text="a", label="b", endings=("c", "d"))
    assert Roles.of(whole).mapping() == whole
    assert Roles.of(whole).columns == {"a": "text", "b": "label", "c": "endings", "d": "endings"}
