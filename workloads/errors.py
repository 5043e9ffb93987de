"""Errors of workloads, each with its stable code."""

from common.errors import DomainError


class TooManyTemplates(DomainError):
    code = "too_many"
    status = 409
    title = "The limit of the account is reached"


class TemplateNameTaken(DomainError):
    code = "template_name_taken"
    status = 409
    title = "You already have a template with this name"


class TemplateIsPublic(DomainError):
    code = "template_is_public"
    status = 409
    title = "Staff has approved this title and description"


class TemplateImageNotShared(DomainError):
    code = "template_image_not_shared"
    status = 409
    title = "Others can't run this template's image"


class DockerOptionRefused(DomainError):
    code = "docker_option_refused"
    status = 422
    title = "This docker run command can't become a template"
