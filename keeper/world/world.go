// Package world has what the keeper knows of a cluster at one moment. Its types have no methods
// that read or write anything.
package world

import (
	"time"

	"deployer/cluster"
)

// World is a cluster as one keeper sees it.
type World struct {
	Now   time.Time
	Nodes []Node
	// Ending are the pods that somebody has deleted and that still exist, of nodes whose condition
	// Ready is Unknown.
	Ending []Pod
	// Watched are the pods that a setting of stuck containers selects, by its index.
	Watched [][]Pod
	// Scaled are the objects that a scale policy selects, by its index.
	Scaled [][]Object
	// PostAddSince is the time from which on nodes that join get hooks; zero while it is not known.
	PostAddSince time.Time
	// Fences are the attempts of the last hour to switch off machines.
	Fences  []Fencing
	Etcd    Etcd
	Backups []Backups
	// Requests are requests for certificates that nobody has decided on, of the signers that sign for nodes.
	Requests []CertificateRequest
	// Clients are the users whose certificates nodes may have.
	Clients []Client
	// RenewBefore is the remaining lifetime from which on certificates are renewed.
	RenewBefore time.Duration
}

// Backups are the scheduled snapshots of an etcd cluster on all masters.
type Backups struct {
	Of     string    // name of the etcd cluster
	Newest time.Time // zero without one
	Since  time.Time // when the schedule was set up
}

// Own is the host of the keeper.
type Own struct {
	Now          time.Time
	Certificates []Certificate
	// Stale are the processes that began before their certificate.
	Stale []string
	// Missing are the addresses that the inventory gives the host and no interface has.
	Missing []string
	// Member is what the host has of its member of etcd; nil when it shall have none.
	Member *Member
	// Drift are the files that are not as the last run left them.
	Drift []Drift
}

// Member is what a host has of its member of etcd.
type Member struct {
	Served bool // a member has served on the host
	Data   bool // it has a write-ahead log
}

// Drift is a file that is not as a run of deployer left it.
type Drift struct {
	Path       string
	Difference string // in a sentence, such as "it is gone"
	Run        string
}

// Certificate is a certificate on the host.
type Certificate struct {
	Name     string // in the table of certificates; empty for an authority
	Path     string
	State    string    // cluster.CertificateOK or a fault
	Detail   string    // the fault in a sentence
	Expires  time.Time // zero when the file cannot be read
	External bool      // an authority outside of the cluster signs it
}

// CertificateRequest is a CertificateSigningRequest.
type CertificateRequest struct {
	Name, UID string
	Signer    string
	User      string // who made it
	Groups    []string
	Usages    []string
	Created   time.Time
	CN        string
	Orgs      []string
	DNS, IPs  []string // IPs in canonical spelling
	// Fault is what it asks for besides these, or why it cannot be read; empty when there is nothing.
	Fault string
	// Serving is the certificate that the kubelet of its node serves now; nil when it was not read.
	Serving *Serving
}

// Serving is the certificate that a kubelet serves, by which it has proved its key.
type Serving struct {
	CN       string
	DNS, IPs []string // IPs in canonical spelling
	// Fault is the reason why it proves nothing; empty when the cluster's authority has signed it and it is valid.
	Fault string
}

// Client is a user of the API by a certificate.
type Client struct {
	CN   string
	Orgs []string
}

// OtherCertificates are certificates of a node that it cannot renew.
type OtherCertificates struct {
	Names   []string
	Expires time.Time // the first of them
}

// Readiness is the status of a condition of a node or pod: True, False or Unknown.
type Readiness string

// The statuses of a condition.
const (
	True    Readiness = "True"
	False   Readiness = "False"
	Unknown Readiness = "Unknown"
)

// Reach tells whether the host of a node answers the keeper.
type Reach int

// A host that refuses a connection answers: it runs.
const (
	NotTried Reach = iota
	Answers
	Silent
)

// Node is a node.
type Node struct {
	Name    string
	UID     string
	Address string // the first internal address
	Master  bool   // in the inventory
	Etcd    bool   // its host has a member of etcd, by the inventory
	Ready   Readiness
	Since   time.Time // of the present status of Ready
	Created time.Time
	Reach   Reach
	// Serves is the time until which the certificate that its kubelet serves is valid; zero when it is not
	// known. Those of kube-proxy and the network are as old.
	Serves time.Time
	// Others are its certificates that need a run; nil when there are none.
	Others *OtherCertificates
	// Maintenance is the mark of node maintenance; nil without one.
	Maintenance *Maintenance
	// OutOfService is the taint that says that the machine is off; nil without it.
	OutOfService *OutOfService
	// Reboots is true when its own host has cordoned it for a reboot.
	Reboots bool
	// PostAdded is true when the hooks for a node that joined have run for it.
	PostAdded bool
	// PostAdd are the attempts that failed.
	PostAdd Attempts
}

// OutOfService is taint node.kubernetes.io/out-of-service of a node.
type OutOfService struct {
	ByKeeper bool // a person has set it otherwise
}

// Fencing is an attempt to switch off a machine, which may have failed.
type Fencing struct {
	Node string    `json:"node"`
	UID  string    `json:"uid"` // of the Node
	At   time.Time `json:"at"`  // before its hooks ran
}

// Attempts are what a keeper remembers of an action that has failed and was not done since.
type Attempts struct {
	Failures int
	Last     time.Time // of the last failure
	Error    string    // its reason
}

// Maintenance is the mark of a node on which somebody works: until its end, pods of a node whose
// kubelet is away stay.
type Maintenance struct {
	Until  time.Time `json:"until"`
	By     string    `json:"by"`     // who set it
	Reason string    `json:"reason"` // free text
}

// Active reports whether the mark holds at a time.
func (m *Maintenance) Active(now time.Time) bool { return m != nil && now.Before(m.Until) }

// Pod is a pod.
type Pod struct {
	Namespace, Name, UID string
	Node                 string
	Running              bool
	Deleted              time.Time // when it was deleted; zero for one that nobody has deleted
	Started              time.Time // when the kubelet accepted it
	ContainersReady      Readiness
	ReadySince           time.Time       // of the present status of ContainersReady
	Containers           map[string]bool // by name: whether the container is ready
}

// Object is an object with replicas.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
	Replicas                               int  // -1 without such a field
	Patched                                bool // it equals the patch of the policy
}

// Etcd is the etcd cluster.
type Etcd struct {
	Known   bool // it was observed
	Members []cluster.EtcdMemberState
	NoSpace bool // a member has the alarm of a full database
}
