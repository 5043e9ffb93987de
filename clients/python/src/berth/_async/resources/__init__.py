# Generated from the OpenAPI document by `make client`. Do not edit.

"""The resources of a client, each imported when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from berth._async.base import AsyncClientBase

if TYPE_CHECKING:
    from berth._async.resources.account_events import AccountEvents
    from berth._async.resources.advice import Advice
    from berth._async.resources.alerts import Alerts
    from berth._async.resources.archive_default import ArchiveDefault
    from berth._async.resources.budgets import Budgets
    from berth._async.resources.coupons import Coupons
    from berth._async.resources.datasets import Datasets
    from berth._async.resources.device_logins import DeviceLogins
    from berth._async.resources.estimates import Estimates
    from berth._async.resources.events import Events
    from berth._async.resources.gpu_models import GpuModels
    from berth._async.resources.hosts import Hosts
    from berth._async.resources.images import Images
    from berth._async.resources.instances import Instances
    from berth._async.resources.invoices import Invoices
    from berth._async.resources.join_tokens import JoinTokens
    from berth._async.resources.launch_templates import LaunchTemplates
    from berth._async.resources.live import Live
    from berth._async.resources.me import Me
    from berth._async.resources.notification_channels import NotificationChannels
    from berth._async.resources.offers import Offers
    from berth._async.resources.orders import Orders
    from berth._async.resources.payout_account import PayoutAccount
    from berth._async.resources.payouts import Payouts
    from berth._async.resources.quotes import Quotes
    from berth._async.resources.registries import Registries
    from berth._async.resources.saved_searches import SavedSearches
    from berth._async.resources.seals import Seals
    from berth._async.resources.search_terms import SearchTerms
    from berth._async.resources.snapshots import Snapshots
    from berth._async.resources.ssh_keys import SshKeys
    from berth._async.resources.storage_connections import StorageConnections
    from berth._async.resources.storage_hosts import StorageHosts
    from berth._async.resources.sync_schedules import SyncSchedules
    from berth._async.resources.syncs import Syncs
    from berth._async.resources.teams import Teams
    from berth._async.resources.tokens import Tokens
    from berth._async.resources.topups import Topups
    from berth._async.resources.usage_records import UsageRecords
    from berth._async.resources.volumes import Volumes
    from berth._async.resources.wallet import Wallet
    from berth._async.resources.watches import Watches
    from berth._async.resources.webhooks import Webhooks


class Resources(AsyncClientBase):
    """Every resource of the API."""

    @cached_property
    def account_events(self) -> AccountEvents:
        from berth._async.resources.account_events import AccountEvents

        return AccountEvents(self)

    @cached_property
    def advice(self) -> Advice:
        from berth._async.resources.advice import Advice

        return Advice(self)

    @cached_property
    def alerts(self) -> Alerts:
        from berth._async.resources.alerts import Alerts

        return Alerts(self)

    @cached_property
    def archive_default(self) -> ArchiveDefault:
        from berth._async.resources.archive_default import ArchiveDefault

        return ArchiveDefault(self)

    @cached_property
    def budgets(self) -> Budgets:
        from berth._async.resources.budgets import Budgets

        return Budgets(self)

    @cached_property
    def coupons(self) -> Coupons:
        from berth._async.resources.coupons import Coupons

        return Coupons(self)

    @cached_property
    def datasets(self) -> Datasets:
        from berth._async.resources.datasets import Datasets

        return Datasets(self)

    @cached_property
    def device_logins(self) -> DeviceLogins:
        from berth._async.resources.device_logins import DeviceLogins

        return DeviceLogins(self)

    @cached_property
    def estimates(self) -> Estimates:
        from berth._async.resources.estimates import Estimates

        return Estimates(self)

    @cached_property
    def events(self) -> Events:
        from berth._async.resources.events import Events

        return Events(self)

    @cached_property
    def gpu_models(self) -> GpuModels:
        from berth._async.resources.gpu_models import GpuModels

        return GpuModels(self)

    @cached_property
    def hosts(self) -> Hosts:
        from berth._async.resources.hosts import Hosts

        return Hosts(self)

    @cached_property
    def images(self) -> Images:
        from berth._async.resources.images import Images

        return Images(self)

    @cached_property
    def instances(self) -> Instances:
        from berth._async.resources.instances import Instances

        return Instances(self)

    @cached_property
    def invoices(self) -> Invoices:
        from berth._async.resources.invoices import Invoices

        return Invoices(self)

    @cached_property
    def join_tokens(self) -> JoinTokens:
        from berth._async.resources.join_tokens import JoinTokens

        return JoinTokens(self)

    @cached_property
    def launch_templates(self) -> LaunchTemplates:
        from berth._async.resources.launch_templates import LaunchTemplates

        return LaunchTemplates(self)

    @cached_property
    def live(self) -> Live:
        from berth._async.resources.live import Live

        return Live(self)

    @cached_property
    def me(self) -> Me:
        from berth._async.resources.me import Me

        return Me(self)

    @cached_property
    def notification_channels(self) -> NotificationChannels:
        from berth._async.resources.notification_channels import NotificationChannels

        return NotificationChannels(self)

    @cached_property
    def offers(self) -> Offers:
        from berth._async.resources.offers import Offers

        return Offers(self)

    @cached_property
    def orders(self) -> Orders:
        from berth._async.resources.orders import Orders

        return Orders(self)

    @cached_property
    def payout_account(self) -> PayoutAccount:
        from berth._async.resources.payout_account import PayoutAccount

        return PayoutAccount(self)

    @cached_property
    def payouts(self) -> Payouts:
        from berth._async.resources.payouts import Payouts

        return Payouts(self)

    @cached_property
    def quotes(self) -> Quotes:
        from berth._async.resources.quotes import Quotes

        return Quotes(self)

    @cached_property
    def registries(self) -> Registries:
        from berth._async.resources.registries import Registries

        return Registries(self)

    @cached_property
    def saved_searches(self) -> SavedSearches:
        from berth._async.resources.saved_searches import SavedSearches

        return SavedSearches(self)

    @cached_property
    def seals(self) -> Seals:
        from berth._async.resources.seals import Seals

        return Seals(self)

    @cached_property
    def search_terms(self) -> SearchTerms:
        from berth._async.resources.search_terms import SearchTerms

        return SearchTerms(self)

    @cached_property
    def snapshots(self) -> Snapshots:
        from berth._async.resources.snapshots import Snapshots

        return Snapshots(self)

    @cached_property
    def ssh_keys(self) -> SshKeys:
        from berth._async.resources.ssh_keys import SshKeys

        return SshKeys(self)

    @cached_property
    def storage_connections(self) -> StorageConnections:
        from berth._async.resources.storage_connections import StorageConnections

        return StorageConnections(self)

    @cached_property
    def storage_hosts(self) -> StorageHosts:
        from berth._async.resources.storage_hosts import StorageHosts

        return StorageHosts(self)

    @cached_property
    def sync_schedules(self) -> SyncSchedules:
        from berth._async.resources.sync_schedules import SyncSchedules

        return SyncSchedules(self)

    @cached_property
    def syncs(self) -> Syncs:
        from berth._async.resources.syncs import Syncs

        return Syncs(self)

    @cached_property
    def teams(self) -> Teams:
        from berth._async.resources.teams import Teams

        return Teams(self)

    @cached_property
    def tokens(self) -> Tokens:
        from berth._async.resources.tokens import Tokens

        return Tokens(self)

    @cached_property
    def topups(self) -> Topups:
        from berth._async.resources.topups import Topups

        return Topups(self)

    @cached_property
    def usage_records(self) -> UsageRecords:
        from berth._async.resources.usage_records import UsageRecords

        return UsageRecords(self)

    @cached_property
    def volumes(self) -> Volumes:
        from berth._async.resources.volumes import Volumes

        return Volumes(self)

    @cached_property
    def wallet(self) -> Wallet:
        from berth._async.resources.wallet import Wallet

        return Wallet(self)

    @cached_property
    def watches(self) -> Watches:
        from berth._async.resources.watches import Watches

        return Watches(self)

    @cached_property
    def webhooks(self) -> Webhooks:
        from berth._async.resources.webhooks import Webhooks

        return Webhooks(self)
