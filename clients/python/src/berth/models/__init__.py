# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API, each imported when it is first named."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from berth.models.account_events import AccountEventOut as AccountEventOut
    from berth.models.account_events import AccountEventOutKind as AccountEventOutKind
    from berth.models.account_events import PaginatedAccountEventOutList as PaginatedAccountEventOutList
    from berth.models.advice import AdviceNeeds as AdviceNeeds
    from berth.models.advice import AdviceOut as AdviceOut
    from berth.models.advice import AdvicePlan as AdvicePlan
    from berth.models.advice import AdviceRun as AdviceRun
    from berth.models.advice import AdviceSource as AdviceSource
    from berth.models.advice import AdviceStep as AdviceStep
    from berth.models.advice import Family as Family
    from berth.models.advice import Hours as Hours
    from berth.models.advice import Precision as Precision
    from berth.models.advice import RunCost as RunCost
    from berth.models.advice import Task as Task
    from berth.models.alerts import AlertOut as AlertOut
    from berth.models.alerts import PaginatedAlertOutList as PaginatedAlertOutList
    from berth.models.archive_default import ArchiveDefaultOut as ArchiveDefaultOut
    from berth.models.budgets import BudgetOut as BudgetOut
    from berth.models.budgets import PaginatedBudgetOutList as PaginatedBudgetOutList
    from berth.models.budgets import Period as Period
    from berth.models.budgets import Scope as Scope
    from berth.models.coupons import CouponOut as CouponOut
    from berth.models.coupons import CouponOutKind as CouponOutKind
    from berth.models.coupons import CouponOutState as CouponOutState
    from berth.models.coupons import DrawOut as DrawOut
    from berth.models.coupons import PaginatedCouponOutList as PaginatedCouponOutList
    from berth.models.datasets import DataSetOut as DataSetOut
    from berth.models.datasets import PaginatedDataSetOutList as PaginatedDataSetOutList
    from berth.models.device_logins import DeviceLoginOut as DeviceLoginOut
    from berth.models.device_logins import DeviceTokenOut as DeviceTokenOut
    from berth.models.estimates import CrossingOut as CrossingOut
    from berth.models.estimates import EstimateLine as EstimateLine
    from berth.models.estimates import EstimateOut as EstimateOut
    from berth.models.estimates import ModeEstimate as ModeEstimate
    from berth.models.estimates import TierStep as TierStep
    from berth.models.events import AnyEventOut as AnyEventOut
    from berth.models.events import Group as Group
    from berth.models.events import PaginatedAnyEventOutList as PaginatedAnyEventOutList
    from berth.models.gpu_models import Model as Model
    from berth.models.gpu_models import ModelCuda as ModelCuda
    from berth.models.gpu_models import ModelList as ModelList
    from berth.models.gpu_models import ModelMarket as ModelMarket
    from berth.models.gpu_models import ModelSources as ModelSources
    from berth.models.hosts import AskedBy as AskedBy
    from berth.models.hosts import EarningOut as EarningOut
    from berth.models.hosts import EarningsOut as EarningsOut
    from berth.models.hosts import Host as Host
    from berth.models.hosts import HostDetail as HostDetail
    from berth.models.hosts import HostDisk as HostDisk
    from berth.models.hosts import HostEarningsOut as HostEarningsOut
    from berth.models.hosts import HostEvent as HostEvent
    from berth.models.hosts import HostNetwork as HostNetwork
    from berth.models.hosts import HostPage as HostPage
    from berth.models.hosts import HostPorts as HostPorts
    from berth.models.hosts import LedgerHost as LedgerHost
    from berth.models.hosts import ListingChange as ListingChange
    from berth.models.hosts import MaintenanceCategory as MaintenanceCategory
    from berth.models.hosts import MaintenancePage as MaintenancePage
    from berth.models.hosts import MaintenanceReply as MaintenanceReply
    from berth.models.hosts import MaintenanceWindow as MaintenanceWindow
    from berth.models.hosts import OwnDiscounts as OwnDiscounts
    from berth.models.hosts import OwnGpu as OwnGpu
    from berth.models.hosts import OwnOffer as OwnOffer
    from berth.models.hosts import OwnTier as OwnTier
    from berth.models.hosts import Reliability as Reliability
    from berth.models.hosts import ReliabilityEntry as ReliabilityEntry
    from berth.models.hosts import ReliabilityEntryKind as ReliabilityEntryKind
    from berth.models.hosts import ReliabilityInputs as ReliabilityInputs
    from berth.models.hosts import ReliabilityWindow as ReliabilityWindow
    from berth.models.hosts import ReservedDiscounts as ReservedDiscounts
    from berth.models.hosts import SelfTestCheck as SelfTestCheck
    from berth.models.hosts import SelfTests as SelfTests
    from berth.models.hosts import SelfTestShape as SelfTestShape
    from berth.models.hosts import SumOut as SumOut
    from berth.models.hosts import TierDiscount as TierDiscount
    from berth.models.hosts import Verdict as Verdict
    from berth.models.hosts import Verification as Verification
    from berth.models.images import PaginatedImageOutList as PaginatedImageOutList
    from berth.models.instances import AccessOut as AccessOut
    from berth.models.instances import AlertRules as AlertRules
    from berth.models.instances import Archive as Archive
    from berth.models.instances import ArchiveOut as ArchiveOut
    from berth.models.instances import ChargeOut as ChargeOut
    from berth.models.instances import CommandFailure as CommandFailure
    from berth.models.instances import CommandOut as CommandOut
    from berth.models.instances import CommandOutState as CommandOutState
    from berth.models.instances import EventOut as EventOut
    from berth.models.instances import FaultOf as FaultOf
    from berth.models.instances import GpuNow as GpuNow
    from berth.models.instances import IdleStop as IdleStop
    from berth.models.instances import InstanceAccess as InstanceAccess
    from berth.models.instances import InstanceBilling as InstanceBilling
    from berth.models.instances import InstanceFailure as InstanceFailure
    from berth.models.instances import InstanceGpu as InstanceGpu
    from berth.models.instances import InstanceGpuModel as InstanceGpuModel
    from berth.models.instances import InstanceHost as InstanceHost
    from berth.models.instances import InstanceNextStep as InstanceNextStep
    from berth.models.instances import InstanceOut as InstanceOut
    from berth.models.instances import InstanceReimage as InstanceReimage
    from berth.models.instances import InstanceSetback as InstanceSetback
    from berth.models.instances import InstanceSpot as InstanceSpot
    from berth.models.instances import InstanceSpotState as InstanceSpotState
    from berth.models.instances import InstanceTerm as InstanceTerm
    from berth.models.instances import LaunchStatusOut as LaunchStatusOut
    from berth.models.instances import LayerOut as LayerOut
    from berth.models.instances import LogLine as LogLine
    from berth.models.instances import LogsOut as LogsOut
    from berth.models.instances import MetricsOut as MetricsOut
    from berth.models.instances import MetricsPoint as MetricsPoint
    from berth.models.instances import Mode as Mode
    from berth.models.instances import MoveFailure as MoveFailure
    from berth.models.instances import MoveOut as MoveOut
    from berth.models.instances import MoveOutKind as MoveOutKind
    from berth.models.instances import MoveOutState as MoveOutState
    from berth.models.instances import NextOccurrence as NextOccurrence
    from berth.models.instances import OnStart as OnStart
    from berth.models.instances import OutputEncoding as OutputEncoding
    from berth.models.instances import PaginatedEventOutList as PaginatedEventOutList
    from berth.models.instances import PaginatedInstanceOutList as PaginatedInstanceOutList
    from berth.models.instances import PaginatedMoveOutList as PaginatedMoveOutList
    from berth.models.instances import PasswordOut as PasswordOut
    from berth.models.instances import PlaceInLine as PlaceInLine
    from berth.models.instances import PortPair as PortPair
    from berth.models.instances import PullOut as PullOut
    from berth.models.instances import Ready as Ready
    from berth.models.instances import Retention as Retention
    from berth.models.instances import Schedule as Schedule
    from berth.models.instances import ScheduleAction as ScheduleAction
    from berth.models.instances import SchedulePatch as SchedulePatch
    from berth.models.instances import SizeOut as SizeOut
    from berth.models.instances import SshAccess as SshAccess
    from berth.models.instances import Step as Step
    from berth.models.instances import StreamInKind as StreamInKind
    from berth.models.instances import StreamOut as StreamOut
    from berth.models.instances import UsageOut as UsageOut
    from berth.models.instances import WebLinkOut as WebLinkOut
    from berth.models.instances import WeeklyEntry as WeeklyEntry
    from berth.models.invoices import InvoiceKind as InvoiceKind
    from berth.models.invoices import InvoiceOut as InvoiceOut
    from berth.models.invoices import InvoiceSummary as InvoiceSummary
    from berth.models.invoices import PaginatedInvoiceSummaryList as PaginatedInvoiceSummaryList
    from berth.models.invoices import PaperLineOut as PaperLineOut
    from berth.models.invoices import PartyOut as PartyOut
    from berth.models.join_tokens import JoinToken as JoinToken
    from berth.models.launch_templates import ImportOut as ImportOut
    from berth.models.launch_templates import InputOut as InputOut
    from berth.models.launch_templates import InputOutKind as InputOutKind
    from berth.models.launch_templates import LaunchFields as LaunchFields
    from berth.models.launch_templates import NoteOut as NoteOut
    from berth.models.launch_templates import PaginatedTemplateOutList as PaginatedTemplateOutList
    from berth.models.launch_templates import PaginatedVersionOutList as PaginatedVersionOutList
    from berth.models.launch_templates import PortOut as PortOut
    from berth.models.launch_templates import Protocol as Protocol
    from berth.models.launch_templates import RenderOut as RenderOut
    from berth.models.launch_templates import Review as Review
    from berth.models.launch_templates import TemplateCategory as TemplateCategory
    from berth.models.launch_templates import TemplateOut as TemplateOut
    from berth.models.launch_templates import VersionOut as VersionOut
    from berth.models.launch_templates import Visibility as Visibility
    from berth.models.live import Live as Live
    from berth.models.me import Profile as Profile
    from berth.models.notification_channels import ChannelKind as ChannelKind
    from berth.models.notification_channels import ChannelOut as ChannelOut
    from berth.models.notification_channels import NotificationOut as NotificationOut
    from berth.models.notification_channels import PaginatedChannelOutList as PaginatedChannelOutList
    from berth.models.notification_channels import PaginatedNotificationOutList as PaginatedNotificationOutList
    from berth.models.notification_channels import Service as Service
    from berth.models.offers import FacetChoice as FacetChoice
    from berth.models.offers import Facets as Facets
    from berth.models.offers import HistoryOut as HistoryOut
    from berth.models.offers import Offer as Offer
    from berth.models.offers import OfferDisk as OfferDisk
    from berth.models.offers import OfferGpu as OfferGpu
    from berth.models.offers import OfferHost as OfferHost
    from berth.models.offers import OfferList as OfferList
    from berth.models.offers import OfferNetwork as OfferNetwork
    from berth.models.offers import OfferPage as OfferPage
    from berth.models.offers import Pcie as Pcie
    from berth.models.offers import PerGpu as PerGpu
    from berth.models.offers import PlacedOffer as PlacedOffer
    from berth.models.offers import PriceChange as PriceChange
    from berth.models.offers import PriceDayOut as PriceDayOut
    from berth.models.offers import Prices as Prices
    from berth.models.offers import Removed as Removed
    from berth.models.offers import ReservedPrices as ReservedPrices
    from berth.models.offers import SpotChange as SpotChange
    from berth.models.offers import SpotHistoryOut as SpotHistoryOut
    from berth.models.offers import SpotPrices as SpotPrices
    from berth.models.offers import Tier as Tier
    from berth.models.offers import VolumeWayOut as VolumeWayOut
    from berth.models.orders import OrderOut as OrderOut
    from berth.models.orders import OrderOutKind as OrderOutKind
    from berth.models.orders import PaginatedOrderOutList as PaginatedOrderOutList
    from berth.models.payout_account import OnboardingOut as OnboardingOut
    from berth.models.payout_account import PayoutAccountOut as PayoutAccountOut
    from berth.models.payouts import PayableOut as PayableOut
    from berth.models.payouts import PayoutOut as PayoutOut
    from berth.models.payouts import PayoutOutState as PayoutOutState
    from berth.models.payouts import PayoutPage as PayoutPage
    from berth.models.quotes import PaysHost as PaysHost
    from berth.models.quotes import QuoteLine as QuoteLine
    from berth.models.quotes import QuoteOut as QuoteOut
    from berth.models.registries import PaginatedRegistryOutList as PaginatedRegistryOutList
    from berth.models.registries import RegistryOut as RegistryOut
    from berth.models.saved_searches import SavedSearch as SavedSearch
    from berth.models.saved_searches import SavedSearchPage as SavedSearchPage
    from berth.models.search_terms import SearchLimits as SearchLimits
    from berth.models.search_terms import SearchTerm as SearchTerm
    from berth.models.search_terms import SearchTerms as SearchTerms
    from berth.models.shared import AlertKind as AlertKind
    from berth.models.shared import BillingMode as BillingMode
    from berth.models.shared import Cause as Cause
    from berth.models.shared import CommunityOut as CommunityOut
    from berth.models.shared import DataDiskOut as DataDiskOut
    from berth.models.shared import Days as Days
    from berth.models.shared import Direction as Direction
    from berth.models.shared import DiskKind as DiskKind
    from berth.models.shared import DiskUsage as DiskUsage
    from berth.models.shared import ImageOut as ImageOut
    from berth.models.shared import ImageOutState as ImageOutState
    from berth.models.shared import InstanceStorageOut as InstanceStorageOut
    from berth.models.shared import LaunchOut as LaunchOut
    from berth.models.shared import MessageOut as MessageOut
    from berth.models.shared import Method as Method
    from berth.models.shared import MountedDataSet as MountedDataSet
    from berth.models.shared import MountedVolume as MountedVolume
    from berth.models.shared import PaginatedSyncOutList as PaginatedSyncOutList
    from berth.models.shared import Payment as Payment
    from berth.models.shared import ReadinessOut as ReadinessOut
    from berth.models.shared import ReadinessType as ReadinessType
    from berth.models.shared import Scopes as Scopes
    from berth.models.shared import SealOut as SealOut
    from berth.models.shared import SignedOut as SignedOut
    from berth.models.shared import Source as Source
    from berth.models.shared import StorageFailure as StorageFailure
    from berth.models.shared import StoragePlace as StoragePlace
    from berth.models.shared import StorageProgress as StorageProgress
    from berth.models.shared import SyncOut as SyncOut
    from berth.models.shared import SyncOutState as SyncOutState
    from berth.models.shared import SyncProgress as SyncProgress
    from berth.models.shared import SyncSubject as SyncSubject
    from berth.models.shared import TemplateRef as TemplateRef
    from berth.models.shared import Term as Term
    from berth.models.shared import UsageRecord as UsageRecord
    from berth.models.snapshots import PaginatedSnapshotOutList as PaginatedSnapshotOutList
    from berth.models.snapshots import SnapshotOrigin as SnapshotOrigin
    from berth.models.snapshots import SnapshotOut as SnapshotOut
    from berth.models.snapshots import SnapshotOutState as SnapshotOutState
    from berth.models.ssh_keys import Key as Key
    from berth.models.ssh_keys import PaginatedKeyList as PaginatedKeyList
    from berth.models.storage_connections import ConnectionOut as ConnectionOut
    from berth.models.storage_connections import PaginatedConnectionOutList as PaginatedConnectionOutList
    from berth.models.storage_hosts import StorageHostOut as StorageHostOut
    from berth.models.sync_schedules import PaginatedSyncScheduleOutList as PaginatedSyncScheduleOutList
    from berth.models.sync_schedules import SyncScheduleOut as SyncScheduleOut
    from berth.models.teams import InvitationOut as InvitationOut
    from berth.models.teams import MemberOut as MemberOut
    from berth.models.teams import PaginatedMemberOutList as PaginatedMemberOutList
    from berth.models.teams import PaginatedTeamOutList as PaginatedTeamOutList
    from berth.models.teams import Role as Role
    from berth.models.teams import SpendingOut as SpendingOut
    from berth.models.teams import TeamOut as TeamOut
    from berth.models.teams import TransferOut as TransferOut
    from berth.models.tokens import NewToken as NewToken
    from berth.models.tokens import PaginatedTokenList as PaginatedTokenList
    from berth.models.tokens import Token as Token
    from berth.models.topups import BonusOut as BonusOut
    from berth.models.topups import DisputeOut as DisputeOut
    from berth.models.topups import DisputeOutState as DisputeOutState
    from berth.models.topups import Origin as Origin
    from berth.models.topups import RefundOut as RefundOut
    from berth.models.topups import RefundOutState as RefundOutState
    from berth.models.topups import TopUpDetail as TopUpDetail
    from berth.models.topups import TopUpOut as TopUpOut
    from berth.models.topups import TopUpPage as TopUpPage
    from berth.models.topups import TopUpState as TopUpState
    from berth.models.usage_records import RecordsOut as RecordsOut
    from berth.models.volumes import PaginatedVolumeMoveOutList as PaginatedVolumeMoveOutList
    from berth.models.volumes import PaginatedVolumeOutList as PaginatedVolumeOutList
    from berth.models.volumes import VolumeGrowth as VolumeGrowth
    from berth.models.volumes import VolumeMoveOut as VolumeMoveOut
    from berth.models.volumes import VolumeMoveOutKind as VolumeMoveOutKind
    from berth.models.volumes import VolumeMoveOutState as VolumeMoveOutState
    from berth.models.volumes import VolumeOut as VolumeOut
    from berth.models.volumes import VolumeOutState as VolumeOutState
    from berth.models.wallet import EntriesOut as EntriesOut
    from berth.models.wallet import EntryOut as EntryOut
    from berth.models.wallet import GapOut as GapOut
    from berth.models.wallet import LineOut as LineOut
    from berth.models.wallet import ReadingOut as ReadingOut
    from berth.models.wallet import ReportsOut as ReportsOut
    from berth.models.wallet import Side as Side
    from berth.models.wallet import SpendOut as SpendOut
    from berth.models.wallet import SpendRow as SpendRow
    from berth.models.wallet import StandingOut as StandingOut
    from berth.models.wallet import StandingOutState as StandingOutState
    from berth.models.wallet import StepOut as StepOut
    from berth.models.wallet import UseOut as UseOut
    from berth.models.wallet import WalletOut as WalletOut
    from berth.models.wallet import Why as Why
    from berth.models.watches import PaginatedWatchOutList as PaginatedWatchOutList
    from berth.models.watches import WatchAction as WatchAction
    from berth.models.watches import WatchOut as WatchOut
    from berth.models.watches import WatchOutState as WatchOutState
    from berth.models.webhooks import DeliveryOut as DeliveryOut
    from berth.models.webhooks import PaginatedDeliveryOutList as PaginatedDeliveryOutList
    from berth.models.webhooks import PaginatedWebhookOutList as PaginatedWebhookOutList
    from berth.models.webhooks import WebhookKind as WebhookKind
    from berth.models.webhooks import WebhookOut as WebhookOut
    from berth.models.webhooks import WebhookWithSecret as WebhookWithSecret

_HOMES = {
    "AccessOut": "instances",
    "AccountEventOut": "account_events",
    "AccountEventOutKind": "account_events",
    "AdviceNeeds": "advice",
    "AdviceOut": "advice",
    "AdvicePlan": "advice",
    "AdviceRun": "advice",
    "AdviceSource": "advice",
    "AdviceStep": "advice",
    "AlertKind": "shared",
    "AlertOut": "alerts",
    "AlertRules": "instances",
    "AnyEventOut": "events",
    "Archive": "instances",
    "ArchiveDefaultOut": "archive_default",
    "ArchiveOut": "instances",
    "AskedBy": "hosts",
    "BillingMode": "shared",
    "BonusOut": "topups",
    "BudgetOut": "budgets",
    "Cause": "shared",
    "ChannelKind": "notification_channels",
    "ChannelOut": "notification_channels",
    "ChargeOut": "instances",
    "CommandFailure": "instances",
    "CommandOut": "instances",
    "CommandOutState": "instances",
    "CommunityOut": "shared",
    "ConnectionOut": "storage_connections",
    "CouponOut": "coupons",
    "CouponOutKind": "coupons",
    "CouponOutState": "coupons",
    "CrossingOut": "estimates",
    "DataDiskOut": "shared",
    "DataSetOut": "datasets",
    "Days": "shared",
    "DeliveryOut": "webhooks",
    "DeviceLoginOut": "device_logins",
    "DeviceTokenOut": "device_logins",
    "Direction": "shared",
    "DiskKind": "shared",
    "DiskUsage": "shared",
    "DisputeOut": "topups",
    "DisputeOutState": "topups",
    "DrawOut": "coupons",
    "EarningOut": "hosts",
    "EarningsOut": "hosts",
    "EntriesOut": "wallet",
    "EntryOut": "wallet",
    "EstimateLine": "estimates",
    "EstimateOut": "estimates",
    "EventOut": "instances",
    "FacetChoice": "offers",
    "Facets": "offers",
    "Family": "advice",
    "FaultOf": "instances",
    "GapOut": "wallet",
    "GpuNow": "instances",
    "Group": "events",
    "HistoryOut": "offers",
    "Host": "hosts",
    "HostDetail": "hosts",
    "HostDisk": "hosts",
    "HostEarningsOut": "hosts",
    "HostEvent": "hosts",
    "HostNetwork": "hosts",
    "HostPage": "hosts",
    "HostPorts": "hosts",
    "Hours": "advice",
    "IdleStop": "instances",
    "ImageOut": "shared",
    "ImageOutState": "shared",
    "ImportOut": "launch_templates",
    "InputOut": "launch_templates",
    "InputOutKind": "launch_templates",
    "InstanceAccess": "instances",
    "InstanceBilling": "instances",
    "InstanceFailure": "instances",
    "InstanceGpu": "instances",
    "InstanceGpuModel": "instances",
    "InstanceHost": "instances",
    "InstanceNextStep": "instances",
    "InstanceOut": "instances",
    "InstanceReimage": "instances",
    "InstanceSetback": "instances",
    "InstanceSpot": "instances",
    "InstanceSpotState": "instances",
    "InstanceStorageOut": "shared",
    "InstanceTerm": "instances",
    "InvitationOut": "teams",
    "InvoiceKind": "invoices",
    "InvoiceOut": "invoices",
    "InvoiceSummary": "invoices",
    "JoinToken": "join_tokens",
    "Key": "ssh_keys",
    "LaunchFields": "launch_templates",
    "LaunchOut": "shared",
    "LaunchStatusOut": "instances",
    "LayerOut": "instances",
    "LedgerHost": "hosts",
    "LineOut": "wallet",
    "ListingChange": "hosts",
    "Live": "live",
    "LogLine": "instances",
    "LogsOut": "instances",
    "MaintenanceCategory": "hosts",
    "MaintenancePage": "hosts",
    "MaintenanceReply": "hosts",
    "MaintenanceWindow": "hosts",
    "MemberOut": "teams",
    "MessageOut": "shared",
    "Method": "shared",
    "MetricsOut": "instances",
    "MetricsPoint": "instances",
    "Mode": "instances",
    "ModeEstimate": "estimates",
    "Model": "gpu_models",
    "ModelCuda": "gpu_models",
    "ModelList": "gpu_models",
    "ModelMarket": "gpu_models",
    "ModelSources": "gpu_models",
    "MountedDataSet": "shared",
    "MountedVolume": "shared",
    "MoveFailure": "instances",
    "MoveOut": "instances",
    "MoveOutKind": "instances",
    "MoveOutState": "instances",
    "NewToken": "tokens",
    "NextOccurrence": "instances",
    "NoteOut": "launch_templates",
    "NotificationOut": "notification_channels",
    "Offer": "offers",
    "OfferDisk": "offers",
    "OfferGpu": "offers",
    "OfferHost": "offers",
    "OfferList": "offers",
    "OfferNetwork": "offers",
    "OfferPage": "offers",
    "OnStart": "instances",
    "OnboardingOut": "payout_account",
    "OrderOut": "orders",
    "OrderOutKind": "orders",
    "Origin": "topups",
    "OutputEncoding": "instances",
    "OwnDiscounts": "hosts",
    "OwnGpu": "hosts",
    "OwnOffer": "hosts",
    "OwnTier": "hosts",
    "PaginatedAccountEventOutList": "account_events",
    "PaginatedAlertOutList": "alerts",
    "PaginatedAnyEventOutList": "events",
    "PaginatedBudgetOutList": "budgets",
    "PaginatedChannelOutList": "notification_channels",
    "PaginatedConnectionOutList": "storage_connections",
    "PaginatedCouponOutList": "coupons",
    "PaginatedDataSetOutList": "datasets",
    "PaginatedDeliveryOutList": "webhooks",
    "PaginatedEventOutList": "instances",
    "PaginatedImageOutList": "images",
    "PaginatedInstanceOutList": "instances",
    "PaginatedInvoiceSummaryList": "invoices",
    "PaginatedKeyList": "ssh_keys",
    "PaginatedMemberOutList": "teams",
    "PaginatedMoveOutList": "instances",
    "PaginatedNotificationOutList": "notification_channels",
    "PaginatedOrderOutList": "orders",
    "PaginatedRegistryOutList": "registries",
    "PaginatedSnapshotOutList": "snapshots",
    "PaginatedSyncOutList": "shared",
    "PaginatedSyncScheduleOutList": "sync_schedules",
    "PaginatedTeamOutList": "teams",
    "PaginatedTemplateOutList": "launch_templates",
    "PaginatedTokenList": "tokens",
    "PaginatedVersionOutList": "launch_templates",
    "PaginatedVolumeMoveOutList": "volumes",
    "PaginatedVolumeOutList": "volumes",
    "PaginatedWatchOutList": "watches",
    "PaginatedWebhookOutList": "webhooks",
    "PaperLineOut": "invoices",
    "PartyOut": "invoices",
    "PasswordOut": "instances",
    "PayableOut": "payouts",
    "Payment": "shared",
    "PayoutAccountOut": "payout_account",
    "PayoutOut": "payouts",
    "PayoutOutState": "payouts",
    "PayoutPage": "payouts",
    "PaysHost": "quotes",
    "Pcie": "offers",
    "PerGpu": "offers",
    "Period": "budgets",
    "PlaceInLine": "instances",
    "PlacedOffer": "offers",
    "PortOut": "launch_templates",
    "PortPair": "instances",
    "Precision": "advice",
    "PriceChange": "offers",
    "PriceDayOut": "offers",
    "Prices": "offers",
    "Profile": "me",
    "Protocol": "launch_templates",
    "PullOut": "instances",
    "QuoteLine": "quotes",
    "QuoteOut": "quotes",
    "ReadinessOut": "shared",
    "ReadinessType": "shared",
    "ReadingOut": "wallet",
    "Ready": "instances",
    "RecordsOut": "usage_records",
    "RefundOut": "topups",
    "RefundOutState": "topups",
    "RegistryOut": "registries",
    "Reliability": "hosts",
    "ReliabilityEntry": "hosts",
    "ReliabilityEntryKind": "hosts",
    "ReliabilityInputs": "hosts",
    "ReliabilityWindow": "hosts",
    "Removed": "offers",
    "RenderOut": "launch_templates",
    "ReportsOut": "wallet",
    "ReservedDiscounts": "hosts",
    "ReservedPrices": "offers",
    "Retention": "instances",
    "Review": "launch_templates",
    "Role": "teams",
    "RunCost": "advice",
    "SavedSearch": "saved_searches",
    "SavedSearchPage": "saved_searches",
    "Schedule": "instances",
    "ScheduleAction": "instances",
    "SchedulePatch": "instances",
    "Scope": "budgets",
    "Scopes": "shared",
    "SealOut": "shared",
    "SearchLimits": "search_terms",
    "SearchTerm": "search_terms",
    "SearchTerms": "search_terms",
    "SelfTestCheck": "hosts",
    "SelfTestShape": "hosts",
    "SelfTests": "hosts",
    "Service": "notification_channels",
    "Side": "wallet",
    "SignedOut": "shared",
    "SizeOut": "instances",
    "SnapshotOrigin": "snapshots",
    "SnapshotOut": "snapshots",
    "SnapshotOutState": "snapshots",
    "Source": "shared",
    "SpendOut": "wallet",
    "SpendRow": "wallet",
    "SpendingOut": "teams",
    "SpotChange": "offers",
    "SpotHistoryOut": "offers",
    "SpotPrices": "offers",
    "SshAccess": "instances",
    "StandingOut": "wallet",
    "StandingOutState": "wallet",
    "Step": "instances",
    "StepOut": "wallet",
    "StorageFailure": "shared",
    "StorageHostOut": "storage_hosts",
    "StoragePlace": "shared",
    "StorageProgress": "shared",
    "StreamInKind": "instances",
    "StreamOut": "instances",
    "SumOut": "hosts",
    "SyncOut": "shared",
    "SyncOutState": "shared",
    "SyncProgress": "shared",
    "SyncScheduleOut": "sync_schedules",
    "SyncSubject": "shared",
    "Task": "advice",
    "TeamOut": "teams",
    "TemplateCategory": "launch_templates",
    "TemplateOut": "launch_templates",
    "TemplateRef": "shared",
    "Term": "shared",
    "Tier": "offers",
    "TierDiscount": "hosts",
    "TierStep": "estimates",
    "Token": "tokens",
    "TopUpDetail": "topups",
    "TopUpOut": "topups",
    "TopUpPage": "topups",
    "TopUpState": "topups",
    "TransferOut": "teams",
    "UsageOut": "instances",
    "UsageRecord": "shared",
    "UseOut": "wallet",
    "Verdict": "hosts",
    "Verification": "hosts",
    "VersionOut": "launch_templates",
    "Visibility": "launch_templates",
    "VolumeGrowth": "volumes",
    "VolumeMoveOut": "volumes",
    "VolumeMoveOutKind": "volumes",
    "VolumeMoveOutState": "volumes",
    "VolumeOut": "volumes",
    "VolumeOutState": "volumes",
    "VolumeWayOut": "offers",
    "WalletOut": "wallet",
    "WatchAction": "watches",
    "WatchOut": "watches",
    "WatchOutState": "watches",
    "WebLinkOut": "instances",
    "WebhookKind": "webhooks",
    "WebhookOut": "webhooks",
    "WebhookWithSecret": "webhooks",
    "WeeklyEntry": "instances",
    "Why": "wallet",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    found: object = getattr(import_module(f"berth.models.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(_HOMES)
