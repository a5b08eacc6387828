package cluster

import "time"

// Spec is the `cluster:` section of an inventory. Zero values mean the default;
// [Spec.WithDefaults] sets it and names the reason for each.
type Spec struct {
	Name           string            `yaml:"name" default:"kubernetes" doc:"Name of the cluster; letters, digits and dashes."`
	Kubernetes     string            `yaml:"kubernetes" default:"v1.36.3" doc:"Kubernetes version, such as v1.36.3."`
	Versions       Versions          `yaml:"versions" doc:"Versions of the components around Kubernetes; default: those that were tested with the Kubernetes version."`
	PodCIDR        string            `yaml:"pod_cidr" default:"10.244.0.0/16" doc:"Range that pods get their addresses from. With a range of the other family after a comma, as in 10.244.0.0/16,fd00:10:244::/56, pods have addresses of both families (dual stack); the first family is that of primary addresses."`
	ServiceCIDR    string            `yaml:"service_cidr" default:"10.96.0.0/16" doc:"Range of Service addresses; the first is the API's, the tenth the DNS server's. In a dual-stack cluster one range of each family, as in 10.96.0.0/16,fd00:10:96::/112."`
	NodePrefix     int               `yaml:"node_prefix" doc:"Prefix length of the part of pod_cidr that each node gets; default 24 (253 pods)."`
	NodePrefixIPv6 int               `yaml:"node_prefix_ipv6" default:"64" doc:"Prefix length of the part of the IPv6 range in pod_cidr that each node gets; at most 16 more than that of the range, as Kubernetes has it."`
	DNS            DNSSpec           `yaml:"dns" doc:"The DNS server inside the cluster."`
	API            APISpec           `yaml:"api" doc:"The Kubernetes API server."`
	Certificates   CertificatesSpec  `yaml:"certificates" doc:"Lifetimes of certificates."`
	Encryption     EncryptionSpec    `yaml:"encryption" doc:"Encryption of what etcd stores."`
	Etcd           EtcdSpec          `yaml:"etcd" doc:"The etcd cluster."`
	LeaderElect    LeaderSpec        `yaml:"leader_election" doc:"Leader election of controller manager and scheduler."`
	Proxy          ProxySpec         `yaml:"proxy" doc:"The API proxy on nodes without an API server and on hosts of role proxy."`
	Network        NetworkSpec       `yaml:"network" doc:"The pod network."`
	KubeProxy      KubeProxySpec     `yaml:"kube_proxy" doc:"kube-proxy."`
	Containerd     ContainerdSpec    `yaml:"containerd" doc:"The container runtime."`
	Kubelet        KubeletSpec       `yaml:"kubelet" doc:"The kubelet."`
	Addons         []AddonSpec       `yaml:"addons" doc:"Objects of Kubernetes that deployer applies in this order, after the cluster's own; objects and add-ons that the inventory no longer has are removed."`
	ImageOverrides []ImageOverride   `yaml:"image_overrides" doc:"Images of pods that the API servers replace when pods are created, in all namespaces. Needs Kubernetes v1.36 or newer. Static pods, such as those of the masters, keep their images."`
	Schedulable    *bool             `yaml:"schedulable_masters" doc:"Whether ordinary pods may run on masters; default true only when the cluster has no minion."`
	Size           string            `yaml:"size" enum:"auto,small,medium,large,xlarge" default:"auto" doc:"Size profile, which sets limits and rates of the components; auto selects it by the number of nodes."`
	Sysctls        map[string]string `yaml:"sysctls" doc:"Kernel settings of every node, added to deployer's own; a setting of both has the value given here."`
	Overrides      map[string]any    `yaml:"overrides" doc:"Settings by component that deployer does not set or does not depend on; others are errors that name the setting of the inventory to use. Components are apiserver, controller_manager, scheduler, kubelet, kube_proxy, containerd, etcd; each may have extra_args, and version for a release other than the cluster's; groups and hosts may have overrides of their own."`
	Unmanaged      []string          `yaml:"unmanaged_nodes" doc:"Nodes of the cluster that the inventory does not name because other programs manage them, such as virtual nodes: names, or patterns with * for any text and ? for one character. All other nodes that the inventory does not name end a run before it changes anything."`
	Rollout        RolloutSpec       `yaml:"rollout" doc:"How changes reach nodes that are in use: one canary of each role first, then the others."`
	Maintenance    MaintenanceSpec   `yaml:"maintenance" doc:"Hooks around work on nodes in use."`
	Keeper         KeeperSpec        `yaml:"keeper" doc:"The keeper, a program on the masters that repairs the cluster between runs."`
	AllowUntested  bool              `yaml:"allow_untested_versions" default:"false" doc:"Accept versions that are not in the table of tested versions."`
	AllowSingleRR  bool              `yaml:"allow_single_reflector" default:"false" doc:"Accept a single named route reflector, whose failure cuts the pod network."`
}

// Versions lists the releases of the components around Kubernetes.
type Versions struct {
	Etcd       string `yaml:"etcd" doc:"Version of etcd, etcdctl and etcdutl; default: the one that was tested with the Kubernetes version."`
	Containerd string `yaml:"containerd" doc:"Version of containerd; default: the one that was tested with the Kubernetes version."`
	Runc       string `yaml:"runc" doc:"Version of runc; default: the one that was tested with the Kubernetes version."`
	CNI        string `yaml:"cni" doc:"Version of the CNI plugins; default: the one that was tested with the Kubernetes version."`
	CoreDNS    string `yaml:"coredns" doc:"Version of the CoreDNS image; default: the one that was tested with the Kubernetes version."`
	Pause      string `yaml:"pause" doc:"Version of the pause image, without a leading v; default: the one that was tested with the Kubernetes version."`
	Nginx      string `yaml:"nginx" doc:"Version of the nginx image of the API proxy; default: the one that was tested with the Kubernetes version."`
	HAProxy    string `yaml:"haproxy" doc:"Version of the HAProxy image of the API proxy; default: the one that was tested with the Kubernetes version."`
	Calico     string `yaml:"calico" doc:"Version of Calico, for clusters whose network plugin it is; default: that of the catalogue for the Kubernetes version."`
}

// APISpec is the `cluster.api:` section.
type APISpec struct {
	Port  int       `yaml:"port" default:"6443" doc:"Port of the API server, and of the local proxy in front of it."`
	SANs  []string  `yaml:"sans" doc:"Further names and addresses that the API server's certificate is valid for."`
	Audit AuditSpec `yaml:"audit" doc:"The audit log."`

	Endpoint  string        `yaml:"endpoint" doc:"Name or address of the API for clients outside of the cluster, such as that of a load balancer of the site, with its port where that is not api.port. The API servers' certificates are valid for it, and deployer kubeconfig names it. Default: the virtual address, the first proxy, or the first master."`
	VirtualIP VirtualIPSpec `yaml:"virtual_ip" doc:"Address of the API that moves between hosts."`

	PodSecurity PodSecuritySpec `yaml:"pod_security" doc:"Pod Security levels of namespaces without labels for Pod Security."`
}

// PodSecuritySpec is the `cluster.api.pod_security:` section. The levels are those
// of the Pod Security Standards.
type PodSecuritySpec struct {
	Enforce          string   `yaml:"enforce" enum:"privileged,baseline,restricted" default:"baseline" doc:"Level below which a pod is refused; privileged refuses none."`
	Audit            string   `yaml:"audit" enum:"privileged,baseline,restricted" default:"restricted" doc:"Level below which a pod is marked in the audit log."`
	Warn             string   `yaml:"warn" enum:"privileged,baseline,restricted" default:"restricted" doc:"Level below which the client that makes a pod is warned."`
	ExemptNamespaces []string `yaml:"exempt_namespaces" doc:"Further namespaces without these levels; kube-system never has them."`
}

// AuditSpec is the `cluster.api.audit:` section.
type AuditSpec struct {
	Enabled    *bool          `yaml:"enabled" default:"true" doc:"Whether the API server writes an audit log."`
	Policy     map[string]any `yaml:"policy" doc:"An audit.k8s.io/v1 Policy; default: metadata of every write, of exec, attach, port-forward and proxy, and of reads of secrets and configmaps; no bodies."`
	LogDir     string         `yaml:"log_dir" default:"/var/log/kubernetes/audit" doc:"Directory of the audit log on masters."`
	MaxAgeDays int            `yaml:"max_age_days" default:"30" doc:"Number of days after which a rotated log file is removed."`
	MaxBackups int            `yaml:"max_backups" default:"10" doc:"Maximum number of rotated log files."`
	MaxSizeMiB int            `yaml:"max_size_mib" default:"100" doc:"Size in MiB at which the log file is rotated."`
}

// EncryptionSpec is the `cluster.encryption:` section.
type EncryptionSpec struct {
	AtRest *bool `yaml:"at_rest" default:"true" doc:"Whether secrets are encrypted before etcd stores them."`
}

// LeaderSpec is the `cluster.leader_election:` section.
type LeaderSpec struct {
	LeaseDuration time.Duration `yaml:"lease_duration" default:"15s" doc:"Time without a renewal after which another instance may become the leader."`
	RenewDeadline time.Duration `yaml:"renew_deadline" default:"10s" doc:"Time within which the leader must renew its lease or give up."`
	RetryPeriod   time.Duration `yaml:"retry_period" default:"2s" doc:"Time between attempts to become the leader or to renew the lease."`
}

// KubeProxySpec is the `cluster.kube_proxy:` section.
type KubeProxySpec struct {
	Mode string `yaml:"mode" enum:"iptables,nftables,none" default:"iptables" doc:"Kernel interface with which kube-proxy forwards traffic of Services to pods. A change reaches one node first; on each node new connections to Services are refused for some seconds. none: there is no kube-proxy, because the pod network forwards this traffic, too; it needs network.plugin: none, and does not change in a cluster in use."`
}

// KubeletSpec is the `cluster.kubelet:` section.
type KubeletSpec struct {
	MaxPods int `yaml:"max_pods" default:"110" doc:"Maximum number of pods of a node."`
}
