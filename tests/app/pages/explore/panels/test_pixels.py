"""From attention to pixels, and which links are drawn."""

import tracemalloc

import numpy as np
import pytest
from PySide6.QtGui import QColor

from app.pages.explore.panels.attention.links import rank_links
from app.pages.explore.panels.attention.maps import (
    BLANK,
    MAX_LEVEL,
    levels,
    max_pool,
    mosaic,
    picture,
    resize_levels,
)
from app.theme import Role


def attention(layers: int, heads: int, tokens: int) -> np.ndarray:
    random = np.random.default_rng(tokens)
    return random.dirichlet(np.full(tokens, 0.2), (layers, heads, tokens)).astype(np.float32)


def test_levels_and_their_picture_cover_the_whole_range():
    values = np.array([0, 0.25, 1, 1.001], dtype=np.float32)
    assert levels(values).tolist() == [0, MAX_LEVEL // 2, MAX_LEVEL, MAX_LEVEL]
    image = np.array([[0, MAX_LEVEL], [BLANK, 0]], dtype=np.uint8)
    colours = {Role.SURFACE: QColor("#102030"), Role.ACCENT: QColor("#f0e0d0")}
    painted = picture(image, lambda role, _: colours[role])
    image[:] = 0
    assert painted.pixelColor(0, 0) == QColor("#102030")
    assert painted.pixelColor(1, 0) == QColor("#f0e0d0")
    assert painted.pixelColor(0, 1).alpha() == 0


def test_pooling_keeps_the_strongest_link_of_each_block():
    for tokens in (3, 64, 65, 130):
        weights = attention(2, 3, tokens)
        blocks = max_pool(weights, side=16)
        side = min(tokens, 16)
        edges = np.append(np.arange(side) * tokens // side, tokens)
        for row, column in np.ndindex(side, side):
            block = weights[..., edges[row] : edges[row + 1], edges[column] : edges[column + 1]]
            assert np.array_equal(blocks[..., row, column], block.max(axis=(-2, -1)))


def test_pooling_reads_one_head_at_a_time():
    weights = np.ones((2, 12, 256, 256), np.float32)
    head = weights[0, 0].nbytes
    tracemalloc.start()
    pooled = max_pool(weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pooled.shape == (2, 12, 64, 64)
    assert peak < pooled.nbytes + 3 * head


def test_scaling_repeats_squares_and_the_mosaic_has_gaps():
    image = np.arange(9, dtype=np.uint8).reshape(3, 3)
    large = resize_levels(image, 7)
    assert large.shape == (7, 7)
    assert set(large.ravel()) == set(range(9))
    assert resize_levels(image, 3) is not None
    assert resize_levels(large, 1).tolist() == [[8]]
    heads = np.stack([np.full((2, 2), n, dtype=np.uint8) for n in range(6)]).reshape(3, 2, 2, 2)
    tiles = mosaic(heads, side=4, gap=1)
    assert tiles.shape == (14, 9)
    assert tiles[0, 0] == 0
    assert tiles[0, 5] == 1  # the second head of the first layer
    assert tiles[5, 0] == 2  # the first head of the second
    assert (tiles[4] == BLANK).all()
    assert (tiles[:, 4] == BLANK).all()


def test_the_fewest_links_with_the_chosen_fraction_are_selected():
    weights = np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.4, 0.35, 0.25]], dtype=np.float32)
    links = rank_links(weights).select(0.6)
    assert links.weights.tolist() == pytest.approx([0.9, 0.5, 0.4])
    assert list(zip(links.rows, links.columns, strict=True)) == [(1, 0), (0, 0), (2, 0)]
    assert not links.is_truncated
    weights = attention(1, 1, 40)[0, 0].astype(np.float32)
    for fraction in (0.05, 0.3, 0.7, 0.95):
        links = rank_links(weights, max_links=10_000).select(fraction)
        assert links.weights.sum() >= fraction * weights.sum() * (1 - 1e-6)
        assert links.weights[:-1].sum() < fraction * weights.sum()
    weights = np.full((100, 100), 0.01, dtype=np.float32)
    links = rank_links(weights, max_links=200).select(0.5)
    assert len(links.weights) == 200
    assert links.total == 5000
    assert links.is_truncated


def test_equal_links_keep_the_order_of_the_map():
    weights = np.random.default_rng(0).choice([0.0, -0.0, 0.1, 0.5], (40, 40)).astype(np.float32)
    links = rank_links(weights).select(1.0)
    order = np.argsort(-weights.ravel(), kind="stable")[: np.count_nonzero(weights)]
    assert (links.rows * 40 + links.columns).tolist() == order.tolist()
    assert links.weights.tolist() == weights.ravel()[order].tolist()
    for side in (0, 2):
        assert len(rank_links(np.zeros((side, side), np.float32)).select(0.7).weights) == 0
