package networkstatus

// Observed is the state of a pod network.
type Observed struct {
	Hosts    map[string]Host    // hosts that were examined, by name
	Failures map[string]Failure // hosts that could not be examined
	Objects  Objects
}

// Failure is why a host could not be examined.
type Failure struct {
	Reason      string
	Unreachable bool // true when there was no connection
}

// Host is the output of the module network_state on a host.
type Host struct {
	BIRDError string    `json:"bird_error"` // why BIRD does not answer; empty when it does, and without BIRD
	Sessions  []Session `json:"sessions"`   // BIRD's sessions

	RoutesPresent int       `json:"routes_present"` // number of wanted routes that the kernel has
	RoutesMissing int       `json:"routes_missing"` // number of those that it has not
	Missing       []Missing `json:"missing"`        // the first ones of them

	Uplinks   []Interface   `json:"uplinks"` // interfaces to other nodes
	Pods      PodInterfaces `json:"pods"`
	CNI       CNI           `json:"cni"`
	CalicoMTU int           `json:"calico_mtu"` // MTU that calico-node has chosen for pods, in bytes; 0 for none
	Addresses int           `json:"addresses"`  // number of addresses of pods; 0 with Calico
}

// Session is a session of BIRD.
type Session struct {
	Name  string `json:"name"`  // name of BIRD's protocol
	State string `json:"state"` // Established, or why it is not, in the words of BIRD
	Since string `json:"since"` // time or date of the last change, as BIRD writes it
}

// established is the state of a session that exchanges routes.
const established = "Established"

// Missing is a wanted route that the kernel does not have.
type Missing struct {
	To    string `json:"to"`    // prefix
	Want  string `json:"want"`  // wanted gateway; empty for any
	Found string `json:"found"` // gateway of the kernel's route; empty without a route
}

// Interface is a network interface of a host.
type Interface struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"` // bytes; 0 when it is not known
}

// PodInterfaces are the interfaces of pods.
type PodInterfaces struct {
	Count int `json:"count"`
	Low   int `json:"low"`  // lowest MTU in bytes; 0 without pods
	High  int `json:"high"` // highest MTU
}

// CNI is the network configuration that containerd uses.
type CNI struct {
	File string `json:"file"` // name of the file; empty without any
	Type string `json:"type"` // type of its first plugin
	MTU  int    `json:"mtu"`  // bytes; 0 when the plugin chooses it
}
