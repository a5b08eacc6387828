package decide

// The reasons of problems.
const (
	NodeUnknown         = "NodeUnknown"
	NodeNotReady        = "NodeNotReady"
	ClusterNotObserved  = "ClusterNotObserved"
	BadConfiguration    = "BadConfiguration"
	EtcdNoSpace         = "EtcdNoSpace"
	EtcdMemberUnknown   = "EtcdMemberUnknown"
	EtcdMemberMissing   = "EtcdMemberMissing"
	EtcdMemberDown      = "EtcdMemberDown"
	EtcdLearner         = "EtcdLearner"
	BackupOld           = "BackupOld"
	AddressMissing      = "AddressMissing"
	CertificateExpiring = "CertificateExpiring"
	CertificateExpired  = "CertificateExpired"
	CertificateWrong    = "CertificateWrong"
	AuthorityExpiring   = "AuthorityExpiring"

	NodeCertificateExpiring = "NodeCertificateExpiring" // of a minion
	// CertificateRequestRefused is about a request of a node that a person has to look at.
	CertificateRequestRefused = "CertificateRequestRefused"
	RenewalFailed             = "RenewalFailed"
	HostNotObserved           = "HostNotObserved"
	HostDrift                 = "HostDrift"
	BadMaintenanceFile        = "BadMaintenanceFile"
	MaintenanceFailed         = "MaintenanceFailed"
	PostAddFailed             = "PostAddFailed"
	NotDone                   = "Blocked"
)

// Reasons returns every reason of a problem, for guides and alerts.
func Reasons() []string {
	return []string{
		BadConfiguration, ClusterNotObserved,
		NodeUnknown, NodeNotReady,
		EtcdNoSpace, EtcdMemberUnknown, EtcdMemberMissing, EtcdMemberDown, EtcdLearner,
		BackupOld, AddressMissing,
		CertificateExpiring, CertificateExpired, CertificateWrong, AuthorityExpiring, RenewalFailed, HostNotObserved, HostDrift, NodeCertificateExpiring, CertificateRequestRefused,
		BadMaintenanceFile, MaintenanceFailed, PostAddFailed, NotDone,
	}
}
