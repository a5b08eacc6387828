package cluster

// Node is a host of a resolved cluster, also one that is not a node of Kubernetes: the
// variable `host` of roles and templates. Lists are never null.
type Node struct {
	Name     string   `json:"name"`      // in the inventory; of the Kubernetes node too
	Address  string   `json:"address"`   // as the inventory has it
	IP       string   `json:"ip"`        // the same in canonical form
	Roles    []string `json:"roles"`     // with etcd where the rules put it there, and node
	IsMaster bool     `json:"is_master"` // runs the control plane
	IsMinion bool     `json:"is_minion"` // takes ordinary pods
	IsEtcd   bool     `json:"is_etcd"`   // runs an etcd member
	IsProxy  bool     `json:"is_proxy"`  // passes clients outside on to the API
	IsNode   bool     `json:"is_node"`   // runs a kubelet

	RunsAPIServer     bool     `json:"runs_apiserver"`      // as every master does
	RunsLocalProxy    bool     `json:"runs_local_proxy"`    // a proxy to all API servers on 127.0.0.1, for this node alone
	RunsExternalProxy bool     `json:"runs_external_proxy"` // a proxy on the host's address, for clients outside
	RunsProxyPod      bool     `json:"runs_proxy_pod"`      // the proxy is a static pod here
	RunsProxyUnit     bool     `json:"runs_proxy_unit"`     // the proxy is a systemd unit here, no kubelet being there
	ProxyListen       []string `json:"proxy_listen"`        // address:port pairs of the proxy on this host
	LocalAPI          string   `json:"local_api"`           // URL of the API on this host

	Versions NodeVersions `json:"versions"`

	Labels map[string]string `json:"labels"` // of the Kubernetes node
	Taints []Taint           `json:"taints"` // of the Kubernetes node
	BGP    BGP               `json:"bgp"`
	Etcd   LocalEtcd         `json:"etcd"`
	Args   Args              `json:"args"`
	Mounts Mounts            `json:"mounts"`

	KubeletConfig   map[string]any `json:"kubelet_config"`    // content of its configuration file
	KubeProxyConfig map[string]any `json:"kube_proxy_config"` // content of its configuration file
	Containerd      map[string]any `json:"containerd"`        // content of its configuration file, but for the sandbox's image

	Certificates   []Certificate       `json:"certificates"`    // those that it is entitled to
	Authorities    []string            `json:"authorities"`     // paths of the certificates of authorities that it has
	FormerFiles    []string            `json:"former_files"`    // of certificates at the paths of earlier versions
	Kubeconfigs    []Kubeconfig        `json:"kubeconfigs"`     // those of its components
	APIServerFiles []ConfigFile        `json:"apiserver_files"` // those that the API server reads
	Images         []Image             `json:"images"`          // those of its static pods
	FirstImages    []Image             `json:"first_images"`    // of Images, those without which no node of a new cluster gets to an API server
	Packages       map[string][]string `json:"packages"`        // host packages by facts.os_family, in the words of package managers
	Owned          []Owned             `json:"owned"`           // directories that deployer writes to
	Requirements   []Requirement       `json:"requirements"`    // what preflight looks at
	Units          []string            `json:"units"`           // systemd units that run on the host
	Health         []Health            `json:"health"`          // endpoints of its components
}

// Taint repels pods from a node.
type Taint struct {
	Key    string `json:"key"`    // name of the taint
	Value  string `json:"value"`  // may be empty
	Effect string `json:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
}

// LocalEtcd is the configuration of a host's own etcd; empty on other hosts.
type LocalEtcd struct {
	Name      string   `json:"name"`       // of the member, that of the host
	ClientURL string   `json:"client_url"` // where clients reach it
	PeerURL   string   `json:"peer_url"`   // where other members reach it
	User      string   `json:"user"`       // that it runs as, and its group
	Dirs      []string `json:"dirs"`       // that it writes to: data_dir, and wal-dir where extra arguments have one
}

// Args are the complete flags of each component on this host, sorted, as
// --name=value; empty for components that do not run there. etcd's lack
// initial-cluster and initial-cluster-state, which only a run can know.
type Args struct {
	APIServer         []string `json:"apiserver"`          // of kube-apiserver
	ControllerManager []string `json:"controller_manager"` // of kube-controller-manager
	Scheduler         []string `json:"scheduler"`          // of kube-scheduler
	Etcd              []string `json:"etcd"`               // of etcd
	Kubelet           []string `json:"kubelet"`            // of the kubelet
	KubeProxy         []string `json:"kube_proxy"`         // of kube-proxy
}

// ConfigFile is a configuration file of a component; its content is a value that is
// written as YAML.
type ConfigFile struct {
	Src   string         `json:"src"`   // name of the template that writes Value
	Dest  string         `json:"dest"`  // path on the host
	Value map[string]any `json:"value"` // its content
}

// Image is a container image of this host, by its name in the catalogue.
type Image struct {
	Name    string `json:"name"`    // in the catalogue
	Version string `json:"version"` // in the catalogue
}

// BGP is a node's part in the exchange of routes.
type BGP struct {
	ASN         uint32 `json:"asn"`          // number of the autonomous system
	RouterID    string `json:"router_id"`    // dotted quad
	ClusterID   string `json:"cluster_id"`   // of a reflector: its router id; else empty
	IsReflector bool   `json:"is_reflector"` // passes routes on between its clients
	Peers       []Peer `json:"peers"`        // the sessions
}

// Peer is one BGP session of a node.
type Peer struct {
	Name      string `json:"name"`      // of the host
	IP        string `json:"ip"`        // of the host
	RouterID  string `json:"router_id"` // the peer's
	Client    bool   `json:"client"`    // this node reflects routes for the peer
	Reflector bool   `json:"reflector"` // the peer passes on routes of other nodes
}
