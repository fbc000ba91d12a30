"""Every error that ricordo raises: a stable code for programs, a message and a hint for people."""

from __future__ import annotations

from typing import ClassVar


class RicordoError(Exception):
    """The root of all errors; `code` is stable across releases, `hint` says what to do next."""

    code: ClassVar[str] = "error"
    hint: str

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the message as the exception's text and the hint beside it."""
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, followed by the hint where there is one."""
        message = str(self.args[0])
        return f"{message} ({self.hint})" if self.hint else message

    @property
    def message(self) -> str:
        """The text without the hint."""
        return str(self.args[0])


class ConfigurationError(RicordoError):
    """A setting is missing, contradictory or out of range."""

    code = "configuration"


class InvalidInputError(RicordoError, ValueError):
    """An argument is malformed; nothing was stored."""

    code = "invalid_input"


class InvalidMessageError(InvalidInputError):
    """A message is not JSON, or not in a form that ricordo knows; nothing of its batch was stored."""

    code = "invalid_message"


class NotFoundError(RicordoError, LookupError):
    """The named thing does not exist in this namespace."""

    code = "not_found"


class KeyReusedError(RicordoError):
    """An idempotency key came back with other content; nothing was stored."""

    code = "key_reused"


class DatabaseError(RicordoError):
    """PostgreSQL refused or failed a statement; the transaction was rolled back."""

    code = "database"


class DatabaseUnavailableError(DatabaseError):
    """No connection to PostgreSQL could be made or kept."""

    code = "database_unavailable"


class ExtensionMissingError(DatabaseError):
    """The server has no pgvector, or this role may not create it."""

    code = "extension_missing"


class SchemaTooNewError(DatabaseError):
    """The database was migrated by a newer ricordo than this one."""

    code = "schema_too_new"


class SchemaDamagedError(DatabaseError):
    """An applied migration differs from the one that this ricordo ships."""

    code = "schema_damaged"


class EmbeddedServerError(DatabaseError):
    """The embedded PostgreSQL could not be prepared, started or stopped."""

    code = "embedded_server"


class ModelError(RicordoError):
    """The model server gave no usable answer; nothing was stored and no message was marked."""

    code = "model"


class ModelUnavailableError(ModelError):
    """The model server could not be reached, timed out, was overloaded or failed."""

    code = "model_unavailable"


class ModelAuthenticationError(ModelError):
    """The model server refused the credentials."""

    code = "model_authentication"


class ModelRefusalError(ModelError):
    """The model declined to answer."""

    code = "model_refusal"


class ModelAnswerError(ModelError):
    """The model's answer is empty, cut off, or not in the form that was asked for."""

    code = "model_answer"
