package cluster

import "time"

// EtcdSpec is the `cluster.etcd:` section.
type EtcdSpec struct {
	DataDir                 string        `yaml:"data_dir" default:"/var/lib/etcd" doc:"Directory of the data of etcd."`
	SlowDisk                bool          `yaml:"slow_disk" default:"false" doc:"Whether the disks of the members are slow, such as hard disks or shared storage: heartbeat_interval is then 500ms and election_timeout 2500ms, unless they are set."`
	HeartbeatInterval       time.Duration `yaml:"heartbeat_interval" default:"100ms" doc:"Time between heartbeats of the leader; about the round-trip time between members. 500ms with slow_disk."`
	ElectionTimeout         time.Duration `yaml:"election_timeout" default:"1s" doc:"Time without a heartbeat before an election; at least five heartbeats. 2500ms with slow_disk."`
	QuotaBackendBytes       int64         `yaml:"quota_backend_bytes" doc:"Size of the database in bytes at which etcd refuses writes; default by size profile."`
	SnapshotCount           int           `yaml:"snapshot_count" default:"10000" doc:"Number of writes between snapshots of the log."`
	AutoCompactionMode      string        `yaml:"auto_compaction_mode" enum:"periodic,revision" default:"periodic" doc:"Whether auto_compaction_retention is a time or a number of revisions."`
	AutoCompactionRetention string        `yaml:"auto_compaction_retention" default:"0" doc:"History that etcd's own compaction keeps, as a time or a number of revisions; 0 turns it off, because the API server compacts every five minutes."`
	MetricsURL              string        `yaml:"metrics_url" default:"http://127.0.0.1:2381" doc:"URL on which members serve metrics and health without a client certificate."`
	Backup                  EtcdBackup    `yaml:"backup" doc:"Snapshots that the members save by themselves, of the cluster's own etcd and, with network.calico.datastore: etcd, of Calico's."`
	Events                  EventsSpec    `yaml:"events" doc:"An etcd cluster of its own for Kubernetes' events."`
	Guard                   *bool         `yaml:"guard" default:"true" doc:"Whether the members of etcd are guarded against drains: kubectl drain, and every other eviction of all pods of a node with a member, is refused while another member does not serve, or while another of their nodes is drained. By pods etcd-guard in kube-system and their PodDisruptionBudget, with three members or more that are all on nodes."`
	AllowEven               bool          `yaml:"allow_even" default:"false" doc:"Accept an even number of members, which tolerates no more failures than one member less."`
}

// EtcdBackup is the `cluster.etcd.backup:` section. The numbers hold for all snapshots on a
// host, those of backups and upgrades included.
type EtcdBackup struct {
	// Times of the snapshots: an OnCalendar expression of systemd.time(7), or never.
	Schedule string `yaml:"schedule" json:"schedule" default:"daily" doc:"Times of the snapshots, as OnCalendar of systemd.time(7): daily, *-*-* 00/6:00:00. One member saves each time, a follower where there is one. With never none is saved."`
	// Number of snapshots that stay on a host.
	Keep int `yaml:"keep" json:"keep" default:"15" doc:"Number of snapshots that stay on a host."`
	// Size in MiB of all snapshots on a host.
	MaxSizeMiB int `yaml:"max_size_mib" json:"max_size_mib" default:"10240" doc:"Size in MiB of all snapshots on a host; the oldest are removed beyond it, never the newest."`
	// Public keys of age or SSH.
	Recipients []string `yaml:"recipients" json:"recipients" doc:"Public keys of age or SSH: each backup has the keys of the cluster beside the snapshot, encrypted to these: age1..., ssh-ed25519 ..., ssh-rsa .... Default: none, and backups have no keys."`
	// Fingerprint of the key that authenticates backups.
	Fingerprint string `yaml:"fingerprint" json:"fingerprint" doc:"Fingerprint of the key that authenticates backups, as deployer etcd backup prints it. A restore with --keys refuses keys of another cluster, which an object store might present. Default: none."`
	// Object store of backups.
	S3 ObjectStore `yaml:"s3" json:"s3" doc:"S3-compatible object store of backups. With credentials the members copy their scheduled snapshots to it; deployer etcd backup, backups and restore take its settings for s3://... from here."`
}

// Scheduled reports whether the members save snapshots by themselves.
func (b EtcdBackup) Scheduled() bool { return b.Schedule != "never" }

// onDemand returns the settings for an etcd cluster of which only commands save snapshots.
func (b EtcdBackup) onDemand() EtcdBackup {
	b.Schedule, b.Recipients, b.S3 = "never", []string{}, ObjectStore{}
	return b
}

// ProxySpec is the `cluster.proxy:` section.
type ProxySpec struct {
	Kind              string        `yaml:"kind" enum:"haproxy,nginx" default:"haproxy" doc:"Program that forwards connections to the API servers. haproxy asks each API server for /readyz, and leaves a master that vanished within ten seconds. nginx notices only that a connection fails: connections to a master that vanished stay until their clients give up, and an API server that starts gets requests before it is ready. A cluster that runs nginx keeps it: name the kind there."`
	Port              int           `yaml:"port" doc:"Port on which hosts of role proxy listen for clients outside; default the API's port, or 8443 when a proxy host is a master too."`
	ConnectTimeout    time.Duration `yaml:"connect_timeout" default:"1s" doc:"Maximum time to connect to an API server."`
	Timeout           time.Duration `yaml:"timeout" default:"10m" doc:"Time after which an idle connection is closed."`
	CheckInterval     time.Duration `yaml:"check_interval" doc:"Time between two requests of a proxy to /readyz of each API server, from 500ms to 5s; of haproxy. Default by size: 2s, above 100 nodes 3s, above 500 nodes 5s. An API server that stops serves for a second longer, so that the proxies have left it."`
	MaxFails          int           `yaml:"max_fails" default:"1" doc:"Number of failed connections after which an API server gets no new ones for fail_timeout; of nginx."`
	FailTimeout       time.Duration `yaml:"fail_timeout" default:"10s" doc:"Time for which a failed API server gets no connections; of nginx."`
	WorkerConnections int           `yaml:"worker_connections" doc:"Maximum number of connections of one proxy process: of haproxy those of clients, of nginx those to API servers, too; default by size."`
	TLS               ProxyTLSSpec  `yaml:"tls" doc:"A certificate of your own with which hosts of role proxy end TLS for clients outside of the cluster; of haproxy."`
}

// NetworkSpec is the `cluster.network:` section.
type NetworkSpec struct {
	Plugin            string           `yaml:"plugin" enum:"bgp,calico,none" default:"bgp" doc:"Network plugin. bgp: BIRD announces the pod ranges of the nodes to each other. calico: Calico connects the pods, and enforces NetworkPolicies. none: the pod network is yours, and is applied when the cluster has an API; until then nodes are not Ready. deployer still gives each node a pod range (spec.podCIDR), and hosts have the plugins bridge, ptp, loopback, host-local and portmap in /opt/cni/bin. The other settings of network do not apply to none. The plugin of a cluster in use does not change."`
	CNI               string           `yaml:"cni" enum:"bridge,ptp" default:"bridge" doc:"How a pod is connected to its node with bgp: by a bridge, or point to point."`
	ASN               uint32           `yaml:"asn" default:"64512" doc:"Number of the autonomous system of all nodes; the default is the first private number."`
	Reflectors        []string         `yaml:"reflectors" doc:"Nodes that are route reflectors; default: none below mesh_below nodes, masters above it. Clients of a reflector that is no master compare its routes with a list of all nodes, which changes with each node."`
	ReflectorLabel    string           `yaml:"reflector_label" doc:"Label of nodes whose value is their zone or rack, such as topology.kubernetes.io/zone: from mesh_below nodes on, two nodes of each zone reflect, masters first, and each node has sessions with those of its zone. Nodes without the label are a zone of their own. Default: reflectors are chosen without regard to zones."`
	MeshBelow         int              `yaml:"mesh_below" doc:"Number of nodes from which on route reflectors are used instead of a full mesh; default 50, with calico 100."`
	NodesPerReflector int              `yaml:"nodes_per_reflector" default:"200" doc:"Number of sessions that decides how many masters are chosen as reflectors: at least three, and all of them where more would be needed. Minions are chosen only beside a single master."`
	Authentication    string           `yaml:"authentication" enum:"auto,md5,none" default:"auto" doc:"Password of the BGP sessions, by TCP MD5 (RFC 2385), which the kernel of every node must have: md5, none, or auto: md5 in a new cluster, and the present setting in a cluster in use. The password is made once and kept with the authorities on the masters. A change restarts the sessions of all nodes at one time: for some seconds pods of different nodes do not reach each other. With calico one node changes first, and standby routes carry the packets."`
	HostFirewall      HostFirewallSpec `yaml:"host_firewall" doc:"Packet filter of the ports of etcd and kubelets."`
	MTU               int              `yaml:"mtu" default:"0" doc:"MTU of pods in bytes; 0: with bgp the lowest one of the interfaces between nodes, from 1280 to 1500, and with Calico what calico-node computes from the interfaces of the nodes and the encapsulation."`

	BGP    BGPSpec    `yaml:"bgp" doc:"BGP sessions with routers outside of the cluster."`
	Calico CalicoSpec `yaml:"calico" doc:"Settings of network.plugin: calico."`
}

// routesByBGP reports whether the nodes announce the routes to their pods by BGP.
func (n NetworkSpec) routesByBGP() bool {
	return n.Plugin == PluginBGP || n.Plugin == PluginCalico && backend(n.Calico.Encapsulation) == BackendBIRD
}

// authentication returns the authentication of the BGP sessions: none without sessions.
func (n NetworkSpec) authentication() string {
	if !n.routesByBGP() {
		return AuthenticationNone
	}
	return n.Authentication
}

// ContainerdSpec is the `cluster.containerd:` section.
type ContainerdSpec struct {
	Mirrors     map[string][]string `yaml:"mirrors" doc:"Mirrors of each registry, tried in order before the registry itself, such as docker.io: [https://mirror.example]."`
	Authorities map[string]string   `yaml:"authorities" doc:"CA certificates in PEM form of registries and mirrors, by host and port as in the address, such as mirror.example:5000; default: the CA certificates of the host."`

	Credentials map[string]RegistryCredentials `yaml:"credentials" doc:"Credentials of registries and mirrors, by host and port as in references of images, such as registry.example:5000. Nodes use them for pulls of all pods, deployer for artifacts and images."`

	HTTPProxy  string   `yaml:"http_proxy" doc:"URL of the proxy through which containerd of every node asks registries and mirrors without encryption, such as http://proxy.example:3128; one with a password as !env NAME or !secret TEXT. Default: none."`
	HTTPSProxy string   `yaml:"https_proxy" doc:"As http_proxy, for registries and mirrors with HTTPS, which is nearly all."`
	NoProxy    []string `yaml:"no_proxy" doc:"Hosts that are asked without the proxies: names, names with a dot before them for all below, addresses and ranges. Default: loopback, the ranges of pods and Services, the networks of the hosts (/24, for IPv6 /64), .svc and the domain of the cluster."`
}

// RegistryCredentials are a value of `cluster.containerd.credentials:`.
type RegistryCredentials struct {
	// Name of the user.
	Username string `yaml:"username" doc:"Name of the user, or of the robot account."`
	// Password of the user; it must be marked as secret.
	Password string `yaml:"password" doc:"Password or token of the user, as !env NAME or !secret TEXT."`
	// Path of a file whose first line is the password, in place of Password.
	PasswordFile string `yaml:"password_file" doc:"File whose first line is the password or token, relative to the inventory."`
}
