package compare

// State is the state of a cluster as a whole.
type State string

// The states.
const (
	// New means that the surveyed hosts hold no cluster, or one whose first installation
	// was cut short before etcd was healthy.
	New State = "new"
	// Running means that etcd serves and an API server answers.
	Running State = "running"
	// Down means that the cluster does not answer, and that enough members have their
	// data to form a majority once they run.
	Down State = "down"
	// QuorumLost means that the members that still have their data are no majority.
	// Nothing but a restore of a backup brings such a cluster back.
	QuorumLost State = "quorum-lost"
	// Restoring means that the data of etcd is being replaced: a restore or a readdress was
	// interrupted, and only its continuation knows which members have which data.
	Restoring State = "restoring"
	// Unknown means that hosts which may hold the authorities or the data of etcd could
	// not be examined, and the others show no cluster.
	Unknown State = "unknown"
)

// Result is the difference between a running cluster and the wanted one. Lists of hosts
// are in the order of the inventory.
type Result struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // reason of every state but Running

	// Joining are the hosts of the inventory that the cluster does not have yet: without a
	// Node object, without a member of etcd, or without the proxy for clients outside.
	Joining []string `json:"joining,omitempty"`
	// ExtraNodes and ExtraMembers are the names of nodes and members that the inventory
	// does not name.
	ExtraNodes   []string `json:"extra_nodes,omitempty"`
	ExtraMembers []string `json:"extra_members,omitempty"`

	// Broken are the components that do not work; a repair may restart or replace them.
	Broken []Broken `json:"broken,omitempty"`
	// Problems are what no run repairs, such as files and registrations of other programs.
	Problems []Broken `json:"problems,omitempty"`
	// Older and Newer are the components whose version is not the wanted one.
	Older []Versioned `json:"older,omitempty"`
	Newer []Versioned `json:"newer,omitempty"`
	// Cordoned are the nodes that an administrator or another program has cordoned.
	Cordoned []string `json:"cordoned,omitempty"`
	// LeftCordoned are the nodes that a run of deployer has cordoned, and that take no pods
	// until they are uncordoned. The run was killed, failed, or is in progress.
	LeftCordoned []LeftCordoned `json:"left_cordoned,omitempty"`
	// Replacements is the order in which broken machines may be replaced.
	Replacements []Replacement `json:"replacements,omitempty"`
}

// LeftCordoned is a node that a run of deployer has cordoned.
type LeftCordoned struct {
	Host string `json:"host"`
	Run  string `json:"run"`
}

// Versioned is a component in another version than the wanted one.
type Versioned struct {
	Host      string `json:"host"`
	Component string `json:"component"`
	Found     string `json:"found"`
	Wanted    string `json:"wanted"`
}

// Equal reports whether the cluster has all hosts of the inventory and no others, works,
// runs the wanted versions, and has no node that a run of deployer has left cordoned. Equal does not cover files and units: a check of the
// installation compares those.
func (r Result) Equal() bool {
	return r.State == Running && len(r.Joining)+len(r.ExtraNodes)+len(r.ExtraMembers)+len(r.Broken)+len(r.Problems)+len(r.Older)+len(r.Newer)+len(r.LeftCordoned) == 0
}
