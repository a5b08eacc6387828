package cluster

// Node is a host of a resolved cluster, also one that is not a node of Kubernetes: the
// variable `host` of roles and templates. Lists are never null.
type Node struct {
	Name            string   `json:"name"`             // name of the host in the inventory, and of its Kubernetes node
	Address         string   `json:"address"`          // address of the SSH server, as the inventory has it
	IP              string   `json:"ip"`               // address at which the other hosts reach the host, in canonical form
	IPs             []string `json:"ips"`              // addresses of the host in the families of the pods, ip first
	ExternalAddress string   `json:"external_address"` // address or name at which clients outside of the cluster reach the host; empty when it is ip
	Roles           []string `json:"roles"`            // roles of the host, including etcd where the rules of placement add it, and node
	IsMaster        bool     `json:"is_master"`        // true when the host runs the control plane
	IsMinion        bool     `json:"is_minion"`        // true when the host takes ordinary pods
	IsEtcd          bool     `json:"is_etcd"`          // true when the host runs an etcd member
	IsProxy         bool     `json:"is_proxy"`         // true when the host forwards connections of clients outside of the cluster to the API
	IsNode          bool     `json:"is_node"`          // true when the host runs a kubelet

	RunsAPIServer      bool     `json:"runs_apiserver"`      // true when the host runs an API server, as every master does
	RunsKubeProxy      bool     `json:"runs_kube_proxy"`     // true when the host runs kube-proxy
	RunsCalico         bool     `json:"runs_calico"`         // true when the host runs calico-node
	RunsTypha          bool     `json:"runs_typha"`          // true when the host runs Typha, from which calico-node reads its objects
	RunsNodeDNS        bool     `json:"runs_node_dns"`       // true when the host runs a DNS cache for its pods
	RunsLocalProxy     bool     `json:"runs_local_proxy"`    // true when the host runs an API proxy on 127.0.0.1 for itself
	RunsExternalProxy  bool     `json:"runs_external_proxy"` // true when the host runs an API proxy on its address, for clients outside of the cluster
	RunsProxyPod       bool     `json:"runs_proxy_pod"`      // true when the API proxy is a static pod
	RunsProxyUnit      bool     `json:"runs_proxy_unit"`     // true when the API proxy is a systemd unit, as the host has no kubelet
	RunsFirewall       bool     `json:"runs_firewall"`       // true when the host filters the ports of etcd and the kubelet
	RenewsCertificates bool     `json:"renews_certificates"` // true when the host, which is no master, has a timer that renews its certificates
	ProxyListen        []string `json:"proxy_listen"`        // address:port pairs on which the API proxy listens
	ProxyExternal      string   `json:"proxy_external"`      // address:port of the external address, on which the API proxy listens, too, where the host has the address; empty for none
	ProxyVirtual       string   `json:"proxy_virtual"`       // address:port of the virtual address, on which the API proxy listens, too, whether the host has the address or not; empty for none
	ProxyTLS           NodeTLS  `json:"proxy_tls"`           // where the API proxy ends TLS
	RunsKeepalived     bool     `json:"runs_keepalived"`     // true when the host may hold the virtual address of the API
	RunsWitness        bool     `json:"runs_witness"`        // true when the host is one of those whose majority decides which host has the virtual address
	VirtualPriority    int      `json:"virtual_priority"`    // priority of the host in VRRP; 0 when it does not hold the virtual address
	LocalAPI           string   `json:"local_api"`           // URL of the API as this host reaches it

	Versions NodeVersions `json:"versions"`

	Labels map[string]string `json:"labels"` // labels of the Kubernetes node
	Taints []Taint           `json:"taints"` // taints of the Kubernetes node
	BGP    BGP               `json:"bgp"`
	Etcd   LocalEtcd         `json:"etcd"`

	EtcdEvents *LocalEtcd `json:"etcd_events,omitempty"` // the host's member of the etcd cluster of events; missing on hosts without one
	EtcdCalico *LocalEtcd `json:"etcd_calico,omitempty"` // the host's member of the etcd cluster of Calico; missing on hosts without one

	Args   Args   `json:"args"`
	Mounts Mounts `json:"mounts"`

	KubeletConfig   map[string]any `json:"kubelet_config"`    // content of the kubelet's configuration file
	KubeProxyConfig map[string]any `json:"kube_proxy_config"` // content of kube-proxy's configuration file
	Containerd      map[string]any `json:"containerd"`        // content of containerd's configuration file, without the image of pod sandboxes

	Certificates   []Certificate       `json:"certificates"`    // certificates that the host may have
	Authorities    []string            `json:"authorities"`     // paths of the CA certificates on the host
	FormerFiles    []string            `json:"former_files"`    // certificates and keys at the paths of earlier versions, which are removed
	Kubeconfigs    []Kubeconfig        `json:"kubeconfigs"`     // kubeconfigs of the components
	APIServerFiles []ConfigFile        `json:"apiserver_files"` // configuration files of the API server
	Images         []Image             `json:"images"`          // images of the static pods
	FirstImages    []Image             `json:"first_images"`    // images of the static pods that a node of a new cluster needs before it reaches an API server
	Packages       map[string][]string `json:"packages"`        // host packages by facts.os_family, in the names of the package manager
	Owned          []Owned             `json:"owned"`           // directories that deployer writes to
	Requirements   []Requirement       `json:"requirements"`    // properties that preflight checks
	Units          []string            `json:"units"`           // systemd units of the host
	Health         []Health            `json:"health"`          // health endpoints of the components
	Effects        Effects             `json:"effects"`         // effects of the configuration, compared with the running host
}

// Taint repels pods from a node.
type Taint struct {
	Key    string `json:"key"`    // key of the taint
	Value  string `json:"value"`  // value of the taint; may be empty
	Effect string `json:"effect"` // effect: NoSchedule, PreferNoSchedule or NoExecute
}

// LocalEtcd is the configuration of a host's own etcd; empty on other hosts.
type LocalEtcd struct {
	Name      string   `json:"name"`       // name of the member, which is that of the host
	ClientURL string   `json:"client_url"` // URL for clients
	PeerURL   string   `json:"peer_url"`   // URL for other members
	User      string   `json:"user"`       // user and group of the process
	Dirs      []string `json:"dirs"`       // directories that the member writes to: its data, and that of its write-ahead log where the log is elsewhere
	LogDir    string   `json:"log_dir"`    // directory of the write-ahead log: member/wal of the data, or wal in the directory of the flag wal-dir
}

// Args are the complete flags of each component on this host, sorted, as
// --name=value; empty for components that do not run there. etcd's lack
// initial-cluster and initial-cluster-state, which only a run can know.
type Args struct {
	APIServer         []string `json:"apiserver"`          // flags of kube-apiserver
	ControllerManager []string `json:"controller_manager"` // flags of kube-controller-manager
	Scheduler         []string `json:"scheduler"`          // flags of kube-scheduler
	Etcd              []string `json:"etcd"`               // flags of etcd, without initial-cluster and initial-cluster-state
	// EtcdEvents are flags of the member of the etcd cluster of events, as those of etcd; missing on hosts without one.
	EtcdEvents []string `json:"etcd_events,omitempty"`
	// EtcdCalico are flags of the member of the etcd cluster of Calico, as those of etcd; missing on hosts without one.
	EtcdCalico []string `json:"etcd_calico,omitempty"`
	Kubelet    []string `json:"kubelet"`    // flags of the kubelet
	KubeProxy  []string `json:"kube_proxy"` // flags of kube-proxy
}

// ConfigFile is a configuration file of a component; its content is a value that is
// written as YAML.
type ConfigFile struct {
	Src   string         `json:"src"`   // name of the template that renders the value
	Dest  string         `json:"dest"`  // path on the host
	Value map[string]any `json:"value"` // content of the file
}

// Image is a container image of this host, by its name in the catalogue.
type Image struct {
	Name    string `json:"name"`    // name of the image in the catalogue
	Version string `json:"version"` // version of the image in the catalogue
}

// BGP is a node's part in the exchange of routes.
type BGP struct {
	ASN         uint32 `json:"asn"`          // number of the autonomous system
	RouterID    string `json:"router_id"`    // router id as a dotted quad
	IPv4        string `json:"ipv4"`         // address of the node in sessions that carry IPv4 routes; empty without any
	IPv6        string `json:"ipv6"`         // address of the node in sessions that carry IPv6 routes; empty without any
	ClusterID   string `json:"cluster_id"`   // cluster id of a route reflector, which is its router id; empty on other nodes
	IsReflector bool   `json:"is_reflector"` // true when the node is a route reflector
	Peers       []Peer `json:"peers"`        // BGP sessions with other nodes
	// Rack is the rack of a node whose rack has a layer-3 network of its own; empty otherwise.
	Rack       string   `json:"rack"`
	Routers    []Router `json:"routers"`    // BGP sessions with routers outside of the cluster
	Advertised []string `json:"advertised"` // ranges of Services that the node announces to the routers
}

// Peer is one BGP session of a node.
type Peer struct {
	Name      string `json:"name"`      // name of the peer host
	IP        string `json:"ip"`        // address of the peer host
	IPv4      string `json:"ipv4"`      // address of the peer in the session that carries IPv4 routes; empty for none
	IPv6      string `json:"ipv6"`      // address of the peer in the session that carries IPv6 routes; empty for none
	RouterID  string `json:"router_id"` // router id of the peer
	Client    bool   `json:"client"`    // true when this node reflects routes for the peer
	Reflector bool   `json:"reflector"` // true when the peer reflects routes of other nodes
	Master    bool   `json:"master"`    // true when the peer is a master, whose routes of other nodes are not compared with a list
}
