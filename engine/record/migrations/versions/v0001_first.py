"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "about",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_about"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("notes", sa.String(), nullable=False),
        sa.Column("star", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("launched", sa.String()),
        sa.Column("started", sa.String()),
        sa.Column("ended", sa.String()),
        sa.Column("heard", sa.String()),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("paced_step", sa.Integer(), nullable=False),
        sa.Column("paced_from", sa.String()),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("stage_done", sa.Integer(), nullable=False),
        sa.Column("stage_total", sa.Integer(), nullable=False),
        sa.Column("examples", sa.Integer(), nullable=False),
        sa.Column("parameters", sa.Integer(), nullable=False),
        sa.Column("device", sa.String(), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("loss", sa.Float()),
        sa.Column("best_metric", sa.String(), nullable=False),
        sa.Column("higher_is_better", sa.Boolean(), nullable=False),
        sa.Column("best_score", sa.Float()),
        sa.Column("best_step", sa.Integer(), nullable=False),
        sa.Column("problem", sa.String(), nullable=False),
        sa.Column("advice", sa.String(), nullable=False),
        sa.Column("details", sa.String(), nullable=False),
        sa.Column("bug", sa.Boolean(), nullable=False),
        sa.Column("remarks", sa.JSON(), nullable=False),
        sa.Column("bytes_read", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_state", "runs", ["state"])
    op.create_table(
        "metrics",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("status", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "name", "step", name="pk_metrics"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name="fk_metrics_run_id", ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "checkpoints",
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("run_id", sa.String()),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("best", sa.Boolean(), nullable=False),
        sa.Column("saved", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("folder", name="pk_checkpoints"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name="fk_checkpoints_run_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_checkpoints_run_id", "checkpoints", ["run_id"])
    op.execute("PRAGMA user_version = 1")
