package cluster

// Node is one host of a resolved cluster, whether it is a node of Kubernetes or
// not: the variable `host` of roles and templates. Lists are never null.
type Node struct {
	Name     string   `json:"name"`
	Address  string   `json:"address"`
	IP       string   `json:"ip"`
	Roles    []string `json:"roles"` // with etcd where the rules put it there, and node
	IsMaster bool     `json:"is_master"`
	IsMinion bool     `json:"is_minion"`
	IsEtcd   bool     `json:"is_etcd"`
	IsProxy  bool     `json:"is_proxy"`
	IsNode   bool     `json:"is_node"` // runs a kubelet

	RunsAPIServer     bool     `json:"runs_apiserver"`
	RunsLocalProxy    bool     `json:"runs_local_proxy"`
	RunsExternalProxy bool     `json:"runs_external_proxy"`
	RunsProxyPod      bool     `json:"runs_proxy_pod"`  // the proxy is a static pod here
	RunsProxyUnit     bool     `json:"runs_proxy_unit"` // the proxy is a systemd unit here, no kubelet being there
	ProxyListen       []string `json:"proxy_listen"`    // address:port pairs of the proxy on this host
	LocalAPI          string   `json:"local_api"`

	Labels map[string]string `json:"labels"`
	Taints []Taint           `json:"taints"`
	BGP    BGP               `json:"bgp"`
	Etcd   LocalEtcd         `json:"etcd"`
	Args   Args              `json:"args"`

	KubeletConfig   map[string]any `json:"kubelet_config"`
	KubeProxyConfig map[string]any `json:"kube_proxy_config"`
	Containerd      map[string]any `json:"containerd"`

	Certificates   []Certificate `json:"certificates"`
	Kubeconfigs    []Kubeconfig  `json:"kubeconfigs"`
	APIServerFiles []ConfigFile  `json:"apiserver_files"`
	Images         []Image       `json:"images"`
	Packages       []string      `json:"packages"` // names in Debian
	Requirements   []Requirement `json:"requirements"`
	Units          []string      `json:"units"`  // systemd units that run on the host
	Health         []Health      `json:"health"` // endpoints of its components
}

// Taint repels pods from a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// LocalEtcd is what a host's own etcd is told. Empty on other hosts.
type LocalEtcd struct {
	Name      string `json:"name"`
	ClientURL string `json:"client_url"`
	PeerURL   string `json:"peer_url"`
}

// Args are the complete flags of each component on this host, sorted, as
// --name=value; empty for components that do not run there. etcd's lack
// initial-cluster and initial-cluster-state, which only a run can know.
type Args struct {
	APIServer         []string `json:"apiserver"`
	ControllerManager []string `json:"controller_manager"`
	Scheduler         []string `json:"scheduler"`
	Etcd              []string `json:"etcd"`
	Kubelet           []string `json:"kubelet"`
	KubeProxy         []string `json:"kube_proxy"`
}

// ConfigFile is a file that a component reads, with its content as a value to
// be written as YAML.
type ConfigFile struct {
	Src   string         `json:"src"` // name of the template that writes Value
	Dest  string         `json:"dest"`
	Value map[string]any `json:"value"`
}

// Image is a container image that this host runs, by its name in the catalogue.
type Image struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// BGP is a node's part in the exchange of routes.
type BGP struct {
	ASN         uint32 `json:"asn"`
	RouterID    string `json:"router_id"`  // dotted quad
	ClusterID   string `json:"cluster_id"` // of a reflector: its router id; else empty
	IsReflector bool   `json:"is_reflector"`
	Peers       []Peer `json:"peers"`
}

// Peer is one BGP session of a node.
type Peer struct {
	Name     string `json:"name"` // of the host
	IP       string `json:"ip"`
	RouterID string `json:"router_id"`
	Client   bool   `json:"client"` // this node reflects routes for the peer
}
