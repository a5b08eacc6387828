package cluster

// Cluster is a resolved cluster: every value is decided. Roles and templates see it as
// the variable `cluster`, and each of Nodes as `host` and in `hosts`, by the JSON names.
// Lists are never null.
type Cluster struct {
	Name         string               `json:"name"` // name of the cluster; part of the names of contexts and of the etcd token
	Versions     VersionSet           `json:"versions"`
	PodCIDRs     []string             `json:"pod_cidrs"`     // ranges of pod addresses, one for each family; the first is the family of primary addresses
	ServiceCIDRs []string             `json:"service_cidrs"` // ranges of Service addresses, in the families of pod_cidrs
	Families     []string             `json:"families"`      // families of pods, Services and nodes, that of primary addresses first: ipv4, ipv6
	NodePrefix   int                  `json:"node_prefix"`   // prefix length of each node's pod range in the first of pod_cidrs, in bits
	NodePrefixes []int                `json:"node_prefixes"` // prefix length of each node's pod range in each of pod_cidrs, in bits
	ServiceIP    string               `json:"service_ip"`    // address of the Service kubernetes.default
	Masters      []string             `json:"masters"`       // names of the masters, in inventory order
	Minions      []string             `json:"minions"`       // names of the minions, in inventory order
	NodeNames    []string             `json:"node_names"`    // names of masters and minions, in inventory order
	Proxies      []string             `json:"proxies"`       // names of the hosts of role proxy, in inventory order
	DNS          DNS                  `json:"dns"`
	API          API                  `json:"api"`
	Etcd         Etcd                 `json:"etcd"`
	EtcdGuard    EtcdGuard            `json:"etcd_guard"`            // what guards the members of etcd against drains
	EtcdEvents   *Etcd                `json:"etcd_events,omitempty"` // the etcd cluster of events; missing when they are in the cluster's own etcd
	EtcdCalico   *Etcd                `json:"etcd_calico,omitempty"` // the etcd cluster of Calico; missing when its objects are in the Kubernetes API
	Proxy        Proxy                `json:"proxy"`
	Network      Network              `json:"network"`
	HostFirewall HostFirewall         `json:"host_firewall"`
	KubeProxy    KubeProxy            `json:"kube_proxy"`
	Containerd   Containerd           `json:"containerd"`
	Kubelet      Kubelet              `json:"kubelet"`
	Size         SizeProfile          `json:"size"`
	Audit        Audit                `json:"audit"`
	Encryption   Encryption           `json:"encryption"`
	Certificates CertificateLifetimes `json:"certificates"`
	AdminGroup   string               `json:"admin_group"` // group of admin.conf, bound to cluster-admin
	Rollout      Rollout              `json:"rollout"`
	Keeper       Keeper               `json:"keeper"`
	// UnmanagedNodes are patterns of nodes that the inventory does not name and other programs
	// manage.
	UnmanagedNodes []string          `json:"unmanaged_nodes"`
	Addons         []Addon           `json:"addons"`          // add-ons in the order in which they are applied
	AddonSpecs     []AddonSpec       `json:"-"`               // the same with all settings
	ImageOverrides []ImageOverride   `json:"image_overrides"` // images of pods that the API servers replace
	Hooks          []HookSpec        `json:"-"`               // around work on nodes; the variable maintenance_hooks has them
	Sysctls        map[string]string `json:"sysctls"`         // kernel settings of every node, value by name
	Modules        []string          `json:"kernel_modules"`  // kernel modules that nodes load at boot
	Nodes          map[string]Node   `json:"-"`               // every host by name, not only those that are nodes
	Order          []string          `json:"host_names"`      // names of all hosts that have a role, in inventory order

	// ExternalAuthorities are the authorities whose keys neither a host nor the controller has.
	ExternalAuthorities ExternalAuthorities `json:"external_authorities"`
}

// VersionSet is the releases of this cluster's components.
type VersionSet struct {
	Kubernetes string `json:"kubernetes"`  // version of Kubernetes, with a leading v, such as v1.36.3
	Etcd       string `json:"etcd"`        // version of etcd, etcdctl and etcdutl, with a leading v
	Containerd string `json:"containerd"`  // version of containerd, its shim and ctr, with a leading v
	Runc       string `json:"runc"`        // version of runc, with a leading v
	CNI        string `json:"cni_plugins"` // version of the CNI plugins, with a leading v
	CoreDNS    string `json:"coredns"`     // version of the CoreDNS image, with a leading v
	Pause      string `json:"pause"`       // version of the pause image, without a v, such as 3.10.1
	Nginx      string `json:"nginx"`       // version of the nginx image of the API proxy, without a v
	HAProxy    string `json:"haproxy"`     // version of the HAProxy image of the API proxy, without a v
	Calico     string `json:"calico"`      // version of Calico's images, of calicoctl and of the custom resource definitions, with a leading v
}

// API is the Kubernetes API from the clients' view.
type API struct {
	Port      int        `json:"port"`      // port of every API server, and of the local proxy in front of the API servers
	Local     string     `json:"local"`     // URL of the API on every node, such as https://127.0.0.1:6443
	Endpoints []Endpoint `json:"endpoints"` // API server of each master
	SANs      []string   `json:"sans"`      // further names and addresses in the certificate of the API servers
	// External is the endpoint for clients outside: that of the inventory, the virtual address, the first
	// external proxy, or the first master. The others serve as well.
	External     string    `json:"external"`
	EndpointHost string    `json:"endpoint_host"` // name or address of the API for clients outside that the inventory has; empty without one
	VirtualIP    VirtualIP `json:"virtual_ip"`    // address that moves between hosts
}

// Endpoint is a service on one host.
type Endpoint struct {
	Name     string `json:"name"`      // name of the host
	IP       string `json:"ip"`        // address of the host
	Port     int    `json:"port"`      // port of the service
	HostPort string `json:"host_port"` // address and port, with brackets around an IPv6 address
	URL      string `json:"url"`       // URL of the service: https:// and host_port
}

// Etcd is an etcd cluster.
type Etcd struct {
	DataDir        string     `json:"data_dir"`        // data directory on every member
	Token          string     `json:"token"`           // cluster token, by which members of different new clusters refuse each other
	Members        []Endpoint `json:"members"`         // endpoints for clients, one for each member
	Peers          []Endpoint `json:"peers"`           // endpoints for the other members, one for each member
	InitialCluster string     `json:"initial_cluster"` // value of the flag --initial-cluster for a new cluster
	Servers        []string   `json:"servers"`         // URLs for clients, one for each member
	MetricsURL     string     `json:"metrics_url"`     // URL of metrics and health on the loopback of every member
	Backup         EtcdBackup `json:"backup"`          // snapshots that the members save by themselves
	BackupURL      string     `json:"backup_url"`      // URL below which the members copy their snapshots to an object store; empty: no copies
	Dedicated      bool       `json:"dedicated"`       // true when etcd runs on other hosts than the masters
	Authority      string     `json:"authority"`       // authority that signs the certificates of members and clients
	User           string     `json:"user"`            // common name of the certificate with which deployer connects
	CA             string     `json:"ca"`              // path of the authority's certificate on the members' hosts
	ClientCert     string     `json:"client_cert"`     // path of a client's certificate on the members' hosts, for snapshots
	ClientKey      string     `json:"client_key"`      // path of the key of client_cert
}

// Proxy is the API proxy of both kinds: on nodes for themselves, and on hosts of role
// proxy for clients outside. Times are texts that nginx and HAProxy parse.
type Proxy struct {
	Kind              string     `json:"kind"`               // program of the proxy: haproxy or nginx
	KindNamed         bool       `json:"kind_named"`         // true when the inventory names the program
	Port              int        `json:"port"`               // port of external proxies
	ConnectTimeout    string     `json:"connect_timeout"`    // time after which the next API server is tried, such as 1s
	Timeout           string     `json:"timeout"`            // time after which an idle connection is closed, such as 10m
	CheckInterval     string     `json:"check_interval"`     // time between two requests of HAProxy to /readyz of each API server, such as 2s
	MaxFails          int        `json:"max_fails"`          // number of failed connections after which an API server gets no new ones
	FailTimeout       string     `json:"fail_timeout"`       // time for which a failed API server gets no connections, such as 10s
	WorkerConnections int        `json:"worker_connections"` // maximum number of connections of one process: of HAProxy those of clients, of nginx those to API servers, too
	Backends          []Endpoint `json:"backends"`           // endpoints of the API servers
	TLS               *ProxyTLS  `json:"tls,omitempty"`      // certificate with which hosts of role proxy end TLS; missing when they end none
}

// Network is the pod network.
type Network struct {
	Plugin         string   `json:"plugin"`         // network plugin: bgp, calico or none
	CNI            string   `json:"cni"`            // how a pod is connected to its node: bridge or ptp
	ASN            uint32   `json:"asn"`            // number of the autonomous system of all nodes
	MTU            int      `json:"mtu"`            // MTU of pods in bytes; 0: found from the interfaces of the nodes
	Mesh           bool     `json:"mesh"`           // true when every node has a session with every other node
	Reflectors     []string `json:"reflectors"`     // names of the route reflectors, in inventory order; empty in a mesh
	Authentication string   `json:"authentication"` // authentication of BGP sessions: auto, md5 or none
	Later          bool     `json:"later"`          // true when the pod network is applied by others, after the install
	BIRDSockets    []string `json:"bird_sockets"`   // paths of BIRD's control sockets on nodes; empty where BIRD makes no routes
	Calico         Calico   `json:"calico"`

	RackLabel string        `json:"rack_label"` // label of the rack of nodes whose racks have layer-3 networks of their own; empty when all nodes are in one layer-2 network
	PeerSpecs []BGPPeerSpec `json:"-"`          // routers outside of the cluster
	Advertise Advertised    `json:"-"`          // ranges of Services that nodes announce to the routers
}

// OneLayer2 reports whether every node sends packets for pods to the node of the pod, without a router
// between them that BGP has made known.
func (n Network) OneLayer2() bool { return n.RackLabel == "" }

// KubeProxy is the cluster-wide configuration of kube-proxy.
type KubeProxy struct {
	Mode string `json:"mode"` // proxy mode: iptables, nftables or none
}

// KubeProxyNone is the value of cluster.kube_proxy.mode of a cluster whose pod network forwards the
// traffic of Services.
const KubeProxyNone = "none"

// Containerd is the cluster-wide configuration of the container runtime.
type Containerd struct {
	Registries  []Registry          `json:"registries"`
	Authorities []RegistryAuthority `json:"authorities"`
	Credentials []RegistryLogin     `json:"credentials"`
	Proxy       ContainerdProxy     `json:"proxy"`
}

// Kubelet is the part of the kubelets' configuration that other roles need.
type Kubelet struct {
	MaxPods     int  `json:"max_pods"`     // maximum number of pods of a node without an override
	SwapAllowed bool `json:"swap_allowed"` // true when an override sets failSwapOn to false
}

// Audit is the audit log of the API servers.
type Audit struct {
	Enabled bool           `json:"enabled"` // true when the API servers write an audit log
	LogDir  string         `json:"log_dir"` // directory of the audit log on masters
	MaxMiB  int            `json:"max_mib"` // maximum size of the log with all rotated files, in MiB
	Policy  map[string]any `json:"policy"`  // audit policy of kind audit.k8s.io/v1 Policy
}

// Encryption is the encryption of secrets in etcd, with the path of the key file.
type Encryption struct {
	AtRest bool   `json:"at_rest"` // true when Secrets are encrypted before etcd stores them
	File   string `json:"file"`    // path of the file with the keys, on masters
}
