package cluster

// Cluster is a resolved cluster: a value with nothing left to decide. Roles and
// templates see it as the variable `cluster`, and each of Nodes as `host` and
// in `hosts`, by the JSON names. Lists are never null.
type Cluster struct {
	Name         string            `json:"name"`
	Versions     VersionSet        `json:"versions"`
	PodCIDRs     []string          `json:"pod_cidrs"`     // one family today; the list is the shape of dual-stack
	ServiceCIDRs []string          `json:"service_cidrs"` // likewise
	NodePrefix   int               `json:"node_prefix"`   // prefix length of each node's range
	ServiceIP    string            `json:"service_ip"`    // of the Service kubernetes.default
	Masters      []string          `json:"masters"`       // names, inventory order
	Minions      []string          `json:"minions"`
	NodeNames    []string          `json:"node_names"` // masters and minions
	Proxies      []string          `json:"proxies"`
	DNS          DNS               `json:"dns"`
	API          API               `json:"api"`
	Etcd         Etcd              `json:"etcd"`
	Proxy        Proxy             `json:"proxy"`
	Network      Network           `json:"network"`
	KubeProxy    KubeProxy         `json:"kube_proxy"`
	Containerd   Containerd        `json:"containerd"`
	Kubelet      Kubelet           `json:"kubelet"`
	Size         SizeProfile       `json:"size"`
	Audit        Audit             `json:"audit"`
	Encryption   Encryption        `json:"encryption"`
	AdminGroup   string            `json:"admin_group"` // group of admin.conf, bound to cluster-admin
	Sysctls      map[string]string `json:"sysctls"`
	Modules      []string          `json:"kernel_modules"`
	Nodes        map[string]Node   `json:"-"` // every host by name, not only those that are nodes
	Order        []string          `json:"host_names"`
}

// VersionSet names the releases that this cluster runs.
type VersionSet struct {
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	Containerd string `json:"containerd"`
	Runc       string `json:"runc"`
	CNI        string `json:"cni_plugins"`
	CoreDNS    string `json:"coredns"`
	Pause      string `json:"pause"`
	Nginx      string `json:"nginx"`
	HAProxy    string `json:"haproxy"`
}

// DNS is the DNS server inside the cluster.
type DNS struct {
	Domain           string   `json:"domain"`
	IP               string   `json:"ip"` // of the Service kube-dns
	Replicas         int      `json:"replicas"`
	CacheSeconds     int      `json:"cache_seconds"`
	CacheSize        int      `json:"cache_size"`
	MaxConcurrent    int      `json:"max_concurrent"`
	MemoryRequestMiB int      `json:"memory_request_mib"`
	MemoryLimitMiB   int      `json:"memory_limit_mib"`
	Upstreams        []string `json:"upstreams"` // empty: /etc/resolv.conf of the node
}

// API is the Kubernetes API as clients reach it.
type API struct {
	Port      int        `json:"port"`
	Local     string     `json:"local"` // https://127.0.0.1:6443, on every node
	Endpoints []Endpoint `json:"endpoints"`
	SANs      []string   `json:"sans"`
	// External is what clients outside use: the first external proxy, or the
	// first master where there is none. Any other of them serves as well.
	External string `json:"external"`
}

// Endpoint is a service on one host.
type Endpoint struct {
	Name     string `json:"name"` // of the host
	IP       string `json:"ip"`
	Port     int    `json:"port"`
	HostPort string `json:"host_port"` // with brackets around an IPv6 address
	URL      string `json:"url"`
}

// Etcd is the etcd cluster.
type Etcd struct {
	DataDir        string     `json:"data_dir"`
	Token          string     `json:"token"`
	Members        []Endpoint `json:"members"` // client endpoints
	Peers          []Endpoint `json:"peers"`
	InitialCluster string     `json:"initial_cluster"` // of a new cluster
	Servers        []string   `json:"servers"`         // client URLs
	MetricsURL     string     `json:"metrics_url"`
	Dedicated      bool       `json:"dedicated"` // etcd runs elsewhere than on the masters
}

// Proxy is the API proxy, of both kinds: on nodes for themselves, on hosts of
// role proxy for clients outside. Times are text as nginx and HAProxy read it.
type Proxy struct {
	Kind              string     `json:"kind"`
	Port              int        `json:"port"` // where external proxies listen
	ConnectTimeout    string     `json:"connect_timeout"`
	Timeout           string     `json:"timeout"`
	MaxFails          int        `json:"max_fails"`
	FailTimeout       string     `json:"fail_timeout"`
	WorkerConnections int        `json:"worker_connections"`
	Backends          []Endpoint `json:"backends"`
}

// Network is the pod network.
type Network struct {
	Plugin     string   `json:"plugin"`
	CNI        string   `json:"cni"`
	ASN        uint32   `json:"asn"`
	MTU        int      `json:"mtu"` // 0: that of the node's interface
	Mesh       bool     `json:"mesh"`
	Reflectors []string `json:"reflectors"`
}

// KubeProxy is kube-proxy, as far as the cluster as a whole is concerned.
type KubeProxy struct {
	Mode string `json:"mode"`
}

// Containerd is the container runtime, as far as the cluster as a whole is
// concerned.
type Containerd struct {
	Mirrors []Mirror `json:"mirrors"`
}

// Mirror is where images of one registry are looked for first.
type Mirror struct {
	Registry string   `json:"registry"` // such as docker.io
	Server   string   `json:"server"`   // the registry itself, asked last
	URLs     []string `json:"urls"`
}

// Kubelet is what other roles must know of the kubelets' configuration.
type Kubelet struct {
	MaxPods     int  `json:"max_pods"`
	SwapAllowed bool `json:"swap_allowed"` // some override set failSwapOn to false
}

// Audit is the audit log of the API servers.
type Audit struct {
	Enabled bool           `json:"enabled"`
	LogDir  string         `json:"log_dir"`
	Policy  map[string]any `json:"policy"`
}

// Encryption says whether secrets are encrypted in etcd, and with which key
// file.
type Encryption struct {
	AtRest bool   `json:"at_rest"`
	File   string `json:"file"`
}
