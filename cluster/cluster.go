package cluster

// Cluster is a resolved cluster: every value is decided. Roles and templates see it as
// the variable `cluster`, and each of Nodes as `host` and in `hosts`, by the JSON names.
// Lists are never null.
type Cluster struct {
	Name         string               `json:"name"` // of the cluster; part of contexts and of the etcd token
	Versions     VersionSet           `json:"versions"`
	PodCIDRs     []string             `json:"pod_cidrs"`     // one family today; the list is the shape of dual-stack
	ServiceCIDRs []string             `json:"service_cidrs"` // likewise
	NodePrefix   int                  `json:"node_prefix"`   // prefix length of each node's range
	ServiceIP    string               `json:"service_ip"`    // of the Service kubernetes.default
	Masters      []string             `json:"masters"`       // names, inventory order
	Minions      []string             `json:"minions"`       // names, inventory order
	NodeNames    []string             `json:"node_names"`    // masters and minions
	Proxies      []string             `json:"proxies"`       // names of the hosts of role proxy, inventory order
	DNS          DNS                  `json:"dns"`
	API          API                  `json:"api"`
	Etcd         Etcd                 `json:"etcd"`
	Proxy        Proxy                `json:"proxy"`
	Network      Network              `json:"network"`
	KubeProxy    KubeProxy            `json:"kube_proxy"`
	Containerd   Containerd           `json:"containerd"`
	Kubelet      Kubelet              `json:"kubelet"`
	Size         SizeProfile          `json:"size"`
	Audit        Audit                `json:"audit"`
	Encryption   Encryption           `json:"encryption"`
	Certificates CertificateLifetimes `json:"certificates"`
	AdminGroup   string               `json:"admin_group"` // group of admin.conf, bound to cluster-admin
	Rollout      Rollout              `json:"rollout"`
	Hooks        []HookSpec           `json:"-"`              // around work on nodes; the variable maintenance_hooks has them
	Sysctls      map[string]string    `json:"sysctls"`        // kernel settings of every node, by their names
	Modules      []string             `json:"kernel_modules"` // kernel modules that nodes load at boot
	Nodes        map[string]Node      `json:"-"`              // every host by name, not only those that are nodes
	Order        []string             `json:"host_names"`     // every host that has a role, inventory order

	// ExternalAuthorities are the authorities whose keys neither a host nor the controller has.
	ExternalAuthorities ExternalAuthorities `json:"external_authorities"`
}

// VersionSet is the releases of this cluster's components.
type VersionSet struct {
	Kubernetes string `json:"kubernetes"`  // with a leading v, as all of these but pause, nginx and haproxy
	Etcd       string `json:"etcd"`        // of etcd, etcdctl and etcdutl
	Containerd string `json:"containerd"`  // of containerd, its shim and ctr
	Runc       string `json:"runc"`        // of runc
	CNI        string `json:"cni_plugins"` // of the network plugins
	CoreDNS    string `json:"coredns"`     // of the image of cluster DNS
	Pause      string `json:"pause"`       // of the image that holds a pod together
	Nginx      string `json:"nginx"`       // of the image of the API proxy when that is nginx
	HAProxy    string `json:"haproxy"`     // of the image of the API proxy when that is HAProxy
}

// DNS is the DNS server inside the cluster.
type DNS struct {
	Domain           string   `json:"domain"`             // domain of the names of Services
	IP               string   `json:"ip"`                 // of the Service kube-dns
	Replicas         int      `json:"replicas"`           // number of CoreDNS pods
	CacheSeconds     int      `json:"cache_seconds"`      // seconds that an answer is kept at most
	CacheSize        int      `json:"cache_size"`         // answers kept, of successes and denials each
	MaxConcurrent    int      `json:"max_concurrent"`     // queries that one pod forwards at the same time
	MemoryRequestMiB int      `json:"memory_request_mib"` // memory reserved for each pod
	MemoryLimitMiB   int      `json:"memory_limit_mib"`   // memory at which a pod is ended
	Upstreams        []string `json:"upstreams"`          // empty: /etc/resolv.conf of the node
}

// API is the Kubernetes API from the clients' view.
type API struct {
	Port      int        `json:"port"`      // of every API server, and of the local proxy in front of them
	Local     string     `json:"local"`     // https://127.0.0.1:6443, on every node
	Endpoints []Endpoint `json:"endpoints"` // the API server of each master
	SANs      []string   `json:"sans"`      // further names and addresses in its certificate
	// External is the endpoint for clients outside: the first external proxy or, without
	// one, the first master. The others serve as well.
	External string `json:"external"`
}

// Endpoint is a service on one host.
type Endpoint struct {
	Name     string `json:"name"`      // of the host
	IP       string `json:"ip"`        // of the host
	Port     int    `json:"port"`      // on which the service listens
	HostPort string `json:"host_port"` // with brackets around an IPv6 address
	URL      string `json:"url"`       // https:// and host_port
}

// Etcd is the etcd cluster.
type Etcd struct {
	DataDir        string     `json:"data_dir"`        // on every member
	Token          string     `json:"token"`           // text that keeps members of different new clusters apart
	Members        []Endpoint `json:"members"`         // client endpoints
	Peers          []Endpoint `json:"peers"`           // as members, where they talk to each other
	InitialCluster string     `json:"initial_cluster"` // of a new cluster
	Servers        []string   `json:"servers"`         // client URLs
	MetricsURL     string     `json:"metrics_url"`     // of every member, on its own loopback
	Backup         EtcdBackup `json:"backup"`          // snapshots that the members save by themselves
	BackupURL      string     `json:"backup_url"`      // below which the members copy snapshots to an object store; empty when they copy none
	Dedicated      bool       `json:"dedicated"`       // etcd runs elsewhere than on the masters
}

// Proxy is the API proxy of both kinds: on nodes for themselves, and on hosts of role
// proxy for clients outside. Times are texts that nginx and HAProxy parse.
type Proxy struct {
	Kind              string     `json:"kind"`               // nginx or haproxy
	Port              int        `json:"port"`               // where external proxies listen
	ConnectTimeout    string     `json:"connect_timeout"`    // after which the next API server is tried
	Timeout           string     `json:"timeout"`            // after which an idle connection is closed
	MaxFails          int        `json:"max_fails"`          // failed connections after which an API server is left alone
	FailTimeout       string     `json:"fail_timeout"`       // for how long it is left alone
	WorkerConnections int        `json:"worker_connections"` // that one process holds, both sides counted
	Backends          []Endpoint `json:"backends"`           // the API servers
}

// Network is the pod network.
type Network struct {
	Plugin         string   `json:"plugin"`         // bgp
	CNI            string   `json:"cni"`            // bridge or ptp: how a pod is wired to its node
	ASN            uint32   `json:"asn"`            // number of the autonomous system that all nodes are in
	MTU            int      `json:"mtu"`            // 0: that of the node's interface
	Mesh           bool     `json:"mesh"`           // every node has a session with every other
	Reflectors     []string `json:"reflectors"`     // names of the route reflectors; empty in a mesh
	Authentication string   `json:"authentication"` // of BGP sessions: auto, md5 or none
}

// KubeProxy is the cluster-wide configuration of kube-proxy.
type KubeProxy struct {
	Mode string `json:"mode"` // iptables or nftables
}

// Containerd is the cluster-wide configuration of the container runtime.
type Containerd struct {
	Registries  []Registry          `json:"registries"`
	Authorities []RegistryAuthority `json:"authorities"`
}

// Kubelet is the part of the kubelets' configuration that other roles need.
type Kubelet struct {
	MaxPods     int  `json:"max_pods"`     // on a node without an override
	SwapAllowed bool `json:"swap_allowed"` // some override set failSwapOn to false
}

// Audit is the audit log of the API servers.
type Audit struct {
	Enabled bool           `json:"enabled"` // the API servers write it
	LogDir  string         `json:"log_dir"` // on masters
	MaxMiB  int            `json:"max_mib"` // size of the log with all old files, in MiB
	Policy  map[string]any `json:"policy"`  // an audit.k8s.io/v1 Policy
}

// Encryption is the encryption of secrets in etcd, with the path of the key file.
type Encryption struct {
	AtRest bool   `json:"at_rest"` // secrets are encrypted before etcd stores them
	File   string `json:"file"`    // on masters, with the key
}
