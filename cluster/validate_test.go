package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
)

// good returns a spec and hosts without a problem, which cases change.
func good() (cluster.Spec, []cluster.Host) {
	return cluster.Spec{}, fleet(masters(3), minions(2))
}

// calico returns a change of the network of a cluster with Calico.
func calico(change func(*cluster.NetworkSpec)) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.Plugin = cluster.PluginCalico
		change(&s.Network)
	}
}

// calicoEtcd returns a change of a cluster whose Calico has its objects in etcd.
func calicoEtcd(change func(*cluster.Spec)) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.Plugin, s.Network.Calico.Datastore = cluster.PluginCalico, cluster.DatastoreEtcd
		change(s)
	}
}

// events returns a change of a cluster with an etcd cluster of events.
func events(change func(*cluster.EventsSpec), others ...func(*cluster.Spec)) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Etcd.Events.Enabled = true
		change(&s.Etcd.Events)
		for _, other := range others {
			other(s)
		}
	}
}

// imageOverrides returns a change of a cluster that replaces images: pairs of an image and its replacement.
func imageOverrides(images ...string) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) {
		for i := 0; i < len(images); i += 2 {
			s.ImageOverrides = append(s.ImageOverrides, cluster.ImageOverride{Image: images[i], Replacement: images[i+1]})
		}
	}
}

// imageOverridesWithout returns a change of a cluster that replaces an image, and of its first master, whose API server has
// another flag or version.
func imageOverridesWithout(key string, value any) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, h *[]cluster.Host) {
		imageOverrides("nginx:1.2", "registry.example/nginx:1.2")(s, h)
		server := map[string]any{"extra_args": map[string]any{key: value}}
		if key == "version" {
			server = map[string]any{key: value}
		}
		(*h)[0].Overrides = map[string]any{"apiserver": server}
	}
}

var brokenClusters = []struct {
	name  string
	spoil func(s *cluster.Spec, h *[]cluster.Host)
	want  string // code and subject
	says  string
}{
	{"no such datastore of Calico", calico(func(n *cluster.NetworkSpec) { n.Calico.Datastore = "crd" }), "unknown-datastore cluster.network.calico.datastore", "kubernetes"},
	{"etcd of Calico without its datastore", calico(func(n *cluster.NetworkSpec) { n.Calico.Etcd.DataDir = "/srv/etcd-calico" }), "unused-etcd cluster.network.calico.etcd", "set datastore: etcd"},
	{"data of Calico in that of etcd", calicoEtcd(func(s *cluster.Spec) { s.Network.Calico.Etcd.DataDir = "/var/lib/etcd/calico" }), "bad-path cluster.network.calico.etcd.data_dir", "not apart"},
	{"data of Calico in that of events", calicoEtcd(func(s *cluster.Spec) {
		s.Etcd.Events.Enabled, s.Network.Calico.Etcd.DataDir = true, "/var/lib/etcd-events"
	}), "bad-path cluster.network.calico.etcd.data_dir", "etcd for events"},
	{"the log of etcd in the data of Calico", calicoEtcd(func(s *cluster.Spec) {
		s.Overrides = map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "/var/lib/etcd-calico"}}}
	}), "bad-path cluster.overrides.etcd.extra_args", "etcd for Calico"},
	{"metrics of etcd of Calico on a port in use", calicoEtcd(func(s *cluster.Spec) { s.Network.Calico.Etcd.MetricsURL = "http://127.0.0.1:2579" }), "port-clash cluster.network.calico.etcd.metrics_url", "2579"},
	{"Typha with etcd", calicoEtcd(func(s *cluster.Spec) { s.Network.Calico.Typha = cluster.TyphaAlways }), "unused-with-etcd cluster.network.calico.typha", "auto or never"},
	{"no master", func(_ *cluster.Spec, h *[]cluster.Host) { *h = minions(2) }, "no-master roles.master", "three for high availability"},
	{"nothing at all", func(_ *cluster.Spec, h *[]cluster.Host) { *h = nil }, "no-master roles.master", "at least one"},
	{"even etcd", func(_ *cluster.Spec, h *[]cluster.Host) { *h = masters(2) }, "even-etcd roles.etcd", "use 1 or 3"},
	{"eleven etcd", func(_ *cluster.Spec, h *[]cluster.Host) { *h = masters(11) }, "too-many-etcd roles.etcd", "3, 5 or 7"},
	{"unknown role", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Roles = []string{"worker"} }, "unknown-role n2", `"worker"`},
	{"same name", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Name = "n1" }, "duplicate-host n1", "rename"},
	{"same address", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Address = "172.31.0.11" }, "duplicate-address n2", "that of m1"},
	{"same address of SSH", func(_ *cluster.Spec, h *[]cluster.Host) {
		(*h)[4].Address, (*h)[3].Address = "198.51.100.7", "198.51.100.7"
	}, "duplicate-address n2", "give each a node_address"},
	{"same node address", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].NodeAddress = "172.31.0.11" }, "duplicate-address n2", "that of m1"},
	{"a node address among the pods", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].NodeAddress = "10.244.0.1" }, "overlap cluster.pod_cidr", "of host n2"},
	{"a name as address", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Address = "n2.example" }, "bad-address n2", "not an IP address"},
	{"loopback", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Address = "127.0.0.1" }, "bad-address n2", "cannot be reached"},
	{"bad taint", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Taints = []string{"a=b"} }, "bad-taint n2", "key=value:Effect"},

	{"keeper in a hurry", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Interval = time.Second }, "bad-keeper cluster.keeper.interval", "from 5s to 10m"},
	{"keeper clears nodes that reboot", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Clear.UnknownFor = time.Second }, "bad-keeper cluster.keeper.clear.unknown_for", "from 1m"},
	{"keeper without a hook", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Keeper.Purge.PreRemove = []cluster.KeeperHookSpec{{Name: "storage"}}
	}, "bad-keeper cluster.keeper.purge", "want command or url"},
	{"keeper with a hook of two kinds", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Keeper.PostAdd = []cluster.KeeperHookSpec{{Name: "x", Command: []string{"x"}, URL: "https://x.example"}}
	}, "bad-keeper cluster.keeper.post_add", "want command or url"},
	{"keeper for all pods", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Keeper.StuckContainers = []cluster.StuckContainerSpec{{Namespace: "default", Container: "db"}}
	}, "bad-keeper cluster.keeper.stuck_containers[0].selector", "name labels"},
	{"keeper that scales nothing", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Keeper.Scale = []cluster.ScalePolicySpec{{Kind: "Deployment", Namespace: "default", Selector: "app=x"}}
	}, "bad-keeper cluster.keeper.scale[0]", "set max or patch"},
	{"keeper that may fence no machine", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Fence.MaxPerHour = new(0) }, "bad-keeper cluster.keeper.fence.max_per_hour", "at least 1"},
	{"keeper that fences nodes that boot", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Fence.UnknownFor = time.Minute }, "bad-keeper cluster.keeper.fence.unknown_for", "from 5m"},
	{"keeper that needs no Ready master", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Purge.MinReadyMasters = new(0) }, "bad-keeper cluster.keeper.purge.min_ready_masters", "at least one master"},
	{"keeper without a port", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.MetricsAddress = "127.0.0.1" }, "bad-keeper cluster.keeper.metrics_address", "127.0.0.1:10275"},
	{"nodes that renew certificates without a keeper", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Keeper.Enabled, s.Keeper.Certificates.Nodes = new(false), new(true)
	}, "bad-keeper cluster.keeper.certificates.nodes", "nobody approves"},
	{"nodes that renew certificates of an external authority", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Certificates.External.Cluster, s.Keeper.Certificates.Nodes = "ca.crt", new(true)
	}, "bad-keeper cluster.keeper.certificates.nodes", "authority cluster is external"},
	{"evictions for hours", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Reboots.EvictTimeout = time.Hour }, "bad-keeper cluster.keeper.reboots.evict_timeout", "from 1s to 15m"},
	{"no time for volumes", func(s *cluster.Spec, _ *[]cluster.Host) { s.Keeper.Reboots.UnmountTimeout = -time.Second }, "bad-keeper cluster.keeper.reboots.unmount_timeout", "from 1s to 10m"},
	{"metrics of the keeper on a port in use", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Keeper.MetricsAddress = "127.0.0.1:10259"
	}, "port-clash cluster.keeper.metrics_address", "10259"},

	{"an image with a quote", imageOverrides(`a"b`, "c"), "bad-image-override cluster.image_overrides", `"a\"b" is not an image`},
	{"an image with a line break", imageOverrides("a\n", "c"), "bad-image-override cluster.image_overrides", `"a\n" is not an image`},
	{"a replacement that is no image", imageOverrides("a", "https://registry.example/a"), "bad-image-override cluster.image_overrides", "registry.example/a/b:1.2"},
	{"an image without a name", imageOverrides("a", ""), "bad-image-override cluster.image_overrides", `"" is not an image`},
	{"a repository in upper case", imageOverrides("registry.example/A:1", "a"), "bad-image-override cluster.image_overrides", "registry.example/A:1"},
	{"a digest that is cut off", imageOverrides("a@sha256:12ab", "b"), "bad-image-override cluster.image_overrides", "12ab"},
	{"a long path of an image", imageOverrides("registry.example/"+strings.Repeat("a", 256), "b"), "bad-image-override cluster.image_overrides", "is not an image"},
	{"an image for itself", imageOverrides("a:1", "a:1"), "chained-image-override cluster.image_overrides", "a:1 is replaced by itself"},
	{"two replacements", imageOverrides("a:1", "b:1", "a:1", "c:1"), "duplicate-image-override cluster.image_overrides", "b:1 and c:1"},
	{"a chain of replacements", imageOverrides("b:1", "c:1", "a:1", "b:1"), "chained-image-override cluster.image_overrides", "b:1, which replaces a:1, is itself replaced, by c:1"},
	{"a loop of replacements", imageOverrides("a:1", "b:1", "b:1", "c:1", "c:1", "a:1"), "chained-image-override cluster.image_overrides", "a:1, b:1, c:1 are replaced in a circle"},
	{"more replacements than an expression holds", imageOverrides(manyImages(1000, 91)...), "too-many-image-overrides cluster.image_overrides", "100003 characters"},
	{"replacements by an older Kubernetes", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Kubernetes = "v1.35.4"
		imageOverrides("a:1", "b:1")(s, h)
	}, "version-skew cluster.image_overrides", "m1 has version v1.35.4, and API servers have MutatingAdmissionPolicy since v1.36"},
	{"replacements by one older API server", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Kubernetes, s.Overrides = "v1.35.4", map[string]any{"apiserver": map[string]any{"version": "v1.36.3"}}
		imageOverridesWithout("version", "v1.35.4")(s, h)
	}, "version-skew cluster.image_overrides", "m1 has version v1.35.4"},
	{"replacements without their plugin", imageOverridesWithout("disable-admission-plugins", []any{"MutatingAdmissionPolicy"}), "no-mutating-policies cluster.image_overrides", "extra_args of m1 disable MutatingAdmissionPolicy"},
	{"replacements without their feature", imageOverridesWithout("feature-gates", "ContextualLogging=true,MutatingAdmissionPolicy=false"), "no-mutating-policies cluster.image_overrides", "extra_args of m1 disable MutatingAdmissionPolicy"},

	{"no pattern", func(s *cluster.Spec, _ *[]cluster.Host) { s.Unmanaged = []string{"a["} }, "bad-pattern cluster.unmanaged_nodes", "virtual-*"},
	{"a host as unmanaged", func(s *cluster.Spec, _ *[]cluster.Host) { s.Unmanaged = []string{"n*"} }, "managed-node cluster.unmanaged_nodes", "host n1"},
	{"a former domain that is none", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.FormerDomains = []string{"Old Domain"} }, "bad-domain cluster.dns.former_domains", "cluster.local"},
	{"the present domain as a former one", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.FormerDomains = []string{"cluster.local"} }, "duplicate-domain cluster.dns.former_domains", "take it out"},

	{"not a version", func(s *cluster.Spec, _ *[]cluster.Host) { s.Kubernetes = "1.36" }, "bad-version cluster.kubernetes", "v1.36.3"},
	{"old version", func(s *cluster.Spec, _ *[]cluster.Host) { s.Kubernetes = "v1.30.1" }, "unknown-version cluster.kubernetes", "v1.36, v1.35"},
	{"prerelease", func(s *cluster.Spec, _ *[]cluster.Host) { s.Kubernetes = "v1.36.0-rc.1" }, "unknown-version cluster.kubernetes", "pre-release"},
	{"etcd without v", func(s *cluster.Spec, _ *[]cluster.Host) { s.Versions.Etcd = "3.6.8" }, "bad-version cluster.versions.etcd", "v1.2.3"},
	{"bad tag", func(s *cluster.Spec, _ *[]cluster.Host) { s.Versions.Nginx = "a b" }, "bad-version cluster.versions.nginx", "tag"},
	{"old etcd", func(s *cluster.Spec, _ *[]cluster.Host) { s.Versions.Etcd = "v3.5.21" }, "version-skew cluster.versions.etcd", "v3.5.24"},
	{"containerd 1", func(s *cluster.Spec, _ *[]cluster.Host) { s.Versions.Containerd = "v1.7.29" }, "version-skew cluster.versions.containerd", "v2.0.0"},

	{"version of a host", func(_ *cluster.Spec, h *[]cluster.Host) {
		(*h)[4].Overrides = map[string]any{"kubelet": map[string]any{"version": "1.35"}}
	}, "bad-version n2: overrides.kubelet.version", "v1.36.3"},
	{"unsupported version of a host", func(_ *cluster.Spec, h *[]cluster.Host) {
		(*h)[4].Overrides = map[string]any{"kubelet": map[string]any{"version": "v1.30.2"}}
	}, "unknown-version n2: overrides.kubelet.version", "v1.35"},
	{"a number as version", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Overrides = map[string]any{"containerd": map[string]any{"version": 3}}
	}, "bad-version cluster.overrides.containerd.version", "write a text"},
	{"kubelet newer than API servers", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Kubernetes = "v1.35.4"
		(*h)[4].Overrides = map[string]any{"kubelet": map[string]any{"version": "v1.36.3"}}
	}, "version-skew n2: overrides.kubelet.version", "kubelet is v1.36.3, newer than an API server, which is v1.35.4"},
	{"old etcd beside 3.6", func(_ *cluster.Spec, h *[]cluster.Host) {
		(*h)[1].Overrides = map[string]any{"etcd": map[string]any{"version": "v3.5.24"}}
	}, "version-skew m2: overrides.etcd.version", "v3.5.26"},

	{"not a range", func(s *cluster.Spec, _ *[]cluster.Host) { s.PodCIDR = "10.244.0.0" }, "bad-cidr cluster.pod_cidr", "not a range"},
	{"stray host part", func(s *cluster.Spec, _ *[]cluster.Host) { s.ServiceCIDR = "10.96.1.0/16" }, "bad-cidr cluster.service_cidr", "write 10.96.0.0/16"},
	{"pods over services", func(s *cluster.Spec, _ *[]cluster.Host) { s.PodCIDR = "10.96.128.0/17" }, "overlap cluster.service_cidr", "10.96.128.0/17"},
	{"hosts in pods", func(s *cluster.Spec, _ *[]cluster.Host) { s.PodCIDR = "172.31.0.0/16" }, "overlap cluster.pod_cidr", "of host m1"},
	{"hosts in services", func(s *cluster.Spec, _ *[]cluster.Host) { s.ServiceCIDR = "172.31.0.0/16" }, "overlap cluster.service_cidr", "of host m1"},
	{"two families", func(s *cluster.Spec, _ *[]cluster.Host) { s.ServiceCIDR = "fd00::/112" }, "mixed-families cluster.service_cidr", "different families"},
	{"IPv6 pods", func(s *cluster.Spec, _ *[]cluster.Host) { s.PodCIDR, s.ServiceCIDR = "fd00:1::/48", "fd00::/112" }, "mixed-families cluster.pod_cidr", "of different families"},
	{"a version of Calico with kinds of its own", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.Plugin, s.Versions.Calico = cluster.PluginCalico, "v3.32.1"
	}, "unknown-version cluster.versions.calico", "v3.28 to v3.31"},
	{"IPv6 pods with IPIP", ipv6(func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.Plugin, s.Network.Calico.Encapsulation = "calico", "ipip-cross-subnet"
	}), "ipip-ipv6 cluster.network.calico.encapsulation", "use none, vxlan or vxlan-cross-subnet"},
	{"IPv6 first of Services only", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.ServiceCIDR = "fd00:2::/112,10.96.0.0/16"
	}), "mixed-families cluster.service_cidr", "another order"},
	{"IPv6 first of ranges only", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.PodCIDR, s.ServiceCIDR = "fd00:1::/56,10.244.0.0/16", "fd00:2::/112,10.96.0.0/16"
	}), "mixed-families cluster.pod_cidr", "use IPv4 or IPv6 for both"},
	{"IPv6 blocks that are too large", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.Plugin, s.Network.Calico.BlockSizeIPv6 = "calico", 64
	}), "bad-block-size cluster.network.calico.block_size_ipv6", "use 116 to 128"},
	{"too few IPv6 blocks", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.Plugin, s.Network.Calico.BlockSizeIPv6 = "calico", 116
		s.PodCIDR, s.NodePrefixIPv6 = "10.244.0.0/16,fd00:1::/114", 117
	}), "pod-cidr-too-small cluster.network.calico.block_size_ipv6", "4 blocks of /116"},
	{"IPv6 blocks larger than the range", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.Plugin, s.Network.Calico.BlockSizeIPv6 = "calico", 116
		s.PodCIDR, s.NodePrefixIPv6 = "10.244.0.0/16,fd00:1::/117", 120
	}), "bad-block-size cluster.network.calico.block_size_ipv6", "do not fit"},
	{"a family twice", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.PodCIDR = "10.244.0.0/16,10.245.0.0/16" }), "same-family cluster.pod_cidr", "two ranges of one family"},
	{"three ranges", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.ServiceCIDR += ",fd00:3::/112" }), "same-family cluster.service_cidr", "one of IPv4 and one of IPv6"},
	{"an empty list of ranges", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.ServiceCIDR = "," }), "bad-cidr cluster.service_cidr", "has no range"},
	{"Services of one family", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.ServiceCIDR = "10.96.0.0/16" }), "mixed-families cluster.service_cidr", "write a range of each family in both"},
	{"IPv6 pods over Services", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.ServiceCIDR = "10.96.0.0/16,fd00:1::/112" }), "overlap cluster.service_cidr", "fd00:1::/112 overlaps pod_cidr fd00:1::/56"},
	{"IPv6 pods over hosts", dualStack(func(_ *cluster.Spec, h []cluster.Host) { h[4].NodeAddress = "172.31.1.2,fd00:1::9" }), "overlap cluster.pod_cidr", "fd00:1::/56 holds the address fd00:1::9 of host n2"},
	{"huge IPv6 Services", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.ServiceCIDR = "10.96.0.0/16,fd00:2::/64" }), "service-cidr-too-large cluster.service_cidr", "use /108 or smaller"},
	{"IPv6 ranges too far apart", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.NodePrefixIPv6 = 80 }), "bad-node-prefix cluster.node_prefix_ipv6", "choose at most 72"},
	{"IPv6 range too narrow", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.NodePrefixIPv6 = 50 }), "bad-node-prefix cluster.node_prefix_ipv6", "between 56 and 126"},
	{"too few IPv6 ranges", dualStack(func(s *cluster.Spec, _ []cluster.Host) { s.NodePrefixIPv6 = 58 }), "pod-cidr-too-small cluster.pod_cidr", "4 ranges of /58, but there are 5 nodes: widen pod_cidr or raise node_prefix_ipv6"},
	{"a node without IPv6", dualStack(func(_ *cluster.Spec, h []cluster.Host) { h[4].NodeAddress = "" }), "missing-address cluster.pod_cidr", "n2 and 0 other nodes have none: write both as node_address, as in node_address: 172.31.1.2,fd00::1"},
	{"IPv6 of two nodes", dualStack(func(_ *cluster.Spec, h []cluster.Host) { h[4].NodeAddress = "172.31.1.2,fd00::2" }), "duplicate-address n2", "fd00::2 is that of m2 too"},
	{"loopback of IPv6", dualStack(func(_ *cluster.Spec, h []cluster.Host) { h[4].NodeAddress = "172.31.1.2,::1" }), "bad-address n2", "::1 cannot be reached"},
	{"two addresses of one family", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].NodeAddress = "172.31.1.2,172.31.1.9" }, "bad-address n2", "two addresses of one family"},
	{"no IPv6 forwarding", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.Sysctls = map[string]string{"net.ipv6.conf.all.forwarding": "0"}
	}), "fixed-sysctl cluster.sysctls", "must be 1"},
	{"IPv6 host", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[4].Address = "fd00:1::41" }, "mixed-families cluster.pod_cidr", "node n2"},
	{"prefix too short", func(s *cluster.Spec, _ *[]cluster.Host) { s.NodePrefix = 8 }, "bad-node-prefix cluster.node_prefix", "between 16 and 30"},
	{"too few ranges", func(s *cluster.Spec, _ *[]cluster.Host) { s.PodCIDR = "10.244.0.0/22" }, "pod-cidr-too-small cluster.pod_cidr", "4 ranges of /24, but there are 5 nodes"},
	{"too few addresses", func(s *cluster.Spec, _ *[]cluster.Host) { s.NodePrefix = 26 }, "node-range-too-small cluster.node_prefix", "61 pods"},
	{"negative pods", func(s *cluster.Spec, _ *[]cluster.Host) { s.Kubelet.MaxPods = -1 }, "bad-max-pods cluster.kubelet.max_pods", "at least 1"},
	{"huge services", func(s *cluster.Spec, _ *[]cluster.Host) { s.ServiceCIDR = "10.0.0.0/9" }, "service-cidr-too-large cluster.service_cidr", "/12"},
	{"tiny services", func(s *cluster.Spec, _ *[]cluster.Host) { s.ServiceCIDR = "10.96.0.0/29" }, "service-cidr-too-small cluster.service_cidr", "6 Services"},

	{"bad name", func(s *cluster.Spec, _ *[]cluster.Host) { s.Name = "My Cluster" }, "bad-name cluster.name", "small letters"},
	{"bad domain", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.Domain = "cluster..local" }, "bad-domain cluster.dns.domain", "cluster.local"},
	{"bad upstream", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.Upstreams = []string{"dns.example"} }, "bad-upstream cluster.dns.upstreams", "10.0.0.2:53"},
	{"server of a stub domain", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.StubDomains = map[string][]string{"corp.example": {"dns.example"}}
	}, "bad-upstream cluster.dns.stub_domains.corp.example", "10.0.0.2:53"},
	{"too many upstreams", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.Upstreams = slices.Repeat([]string{"10.0.0.2"}, 16) }, "bad-upstream cluster.dns.upstreams", "at most 15"},
	{"stub domain without servers", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.StubDomains = map[string][]string{"corp.example": nil} }, "bad-stub-domain cluster.dns.stub_domains", "no server"},
	{"stub domain that is none", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.StubDomains = map[string][]string{"corp..example": {"10.0.0.2"}}
	}, "bad-stub-domain cluster.dns.stub_domains", "corp.example"},
	{"stub domain in the cluster", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.StubDomains = map[string][]string{"svc.cluster.local": {"10.0.0.2"}}
	}, "bad-stub-domain cluster.dns.stub_domains", "answers itself"},
	{"name with a fixed address", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.Hosts = map[string][]string{"*.example": {"10.0.0.2"}} }, "bad-dns-host cluster.dns.hosts", "registry.corp.example"},
	{"name without an address", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.Hosts = map[string][]string{"a.example": nil} }, "bad-dns-host cluster.dns.hosts", "no address"},
	{"fixed address that is none", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.Hosts = map[string][]string{"a.example": {"b.example"}}
	}, "bad-dns-host cluster.dns.hosts", "not an IP address"},
	{"rewrite of an unknown kind", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.Rewrites = []cluster.DNSRewrite{{Match: "glob", From: "a", To: "b"}}
	}, "unknown-match cluster.dns.rewrites", "suffix"},
	{"rewrite that is more than words", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.Rewrites = []cluster.DNSRewrite{{From: "a.example", To: "b.example } forward"}}
	}, "bad-rewrite cluster.dns.rewrites", "one word"},
	{"rewrite to itself", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.Rewrites = []cluster.DNSRewrite{{From: "a.example", To: "a.example"}}
	}, "bad-rewrite cluster.dns.rewrites", "itself"},
	{"rewrite of no name", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.Rewrites = []cluster.DNSRewrite{{From: ".example", To: "b.example"}}
	}, "bad-rewrite cluster.dns.rewrites", "match: suffix"},
	{"rewrite by a broken expression", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.Rewrites = []cluster.DNSRewrite{{Match: "regex", From: "(.*", To: "b.example"}}
	}, "bad-rewrite cluster.dns.rewrites", "regular expression"},
	{"plugins that end the server", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.ExtraPlugins = "log\n}\nexample.com {" }, "bad-corefile cluster.dns.extra_plugins", "line 2"},
	{"plugins with an open block", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.ExtraPlugins = "log {\n  class error" }, "bad-corefile cluster.dns.extra_plugins", "no }"},
	{"plugins outside of a server", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.ExtraServers = "a.example {\n  log\n}\nlog" }, "bad-corefile cluster.dns.extra_servers", "line 4"},
	{"DNS cache in the range of Services", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.DNS.NodeLocal, s.ServiceCIDR = cluster.NodeLocalDNSSpec{Enabled: true}, "169.254.0.0/16"
	}, "bad-dns-cache cluster.dns.node_local.enabled", "169.254.0.0/16"},
	{"DNS cache at the address of a host", func(s *cluster.Spec, h *[]cluster.Host) {
		s.DNS.NodeLocal = cluster.NodeLocalDNSSpec{Enabled: true}
		(*h)[0].Address = "169.254.20.10"
	}, "bad-dns-cache cluster.dns.node_local.enabled", "and so has m1"},
	{"memory of DNS", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.MemoryRequest, s.DNS.MemoryLimit = 200, 100 }, "bad-resources cluster.dns.memory_request_mib", "memory_limit_mib"},
	{"an endpoint with a scheme", func(s *cluster.Spec, _ *[]cluster.Host) { s.API.Endpoint = "https://api.example.com" }, "bad-endpoint cluster.api.endpoint", "without https://"},
	{"an endpoint with a port that does not exist", func(s *cluster.Spec, _ *[]cluster.Host) { s.API.Endpoint = "api.example.com:65536" }, "bad-endpoint cluster.api.endpoint", "api.example.com:65536"},
	{"bad san", func(s *cluster.Spec, _ *[]cluster.Host) { s.API.SANs = []string{"https://x"} }, "bad-san cluster.api.sans", "neither"},
	{"a check of the proxy that is too slow", func(s *cluster.Spec, _ *[]cluster.Host) { s.Proxy.CheckInterval = time.Minute }, "bad-time cluster.proxy.check_interval", "500ms and 5s"},
	{"unknown proxy", func(s *cluster.Spec, _ *[]cluster.Host) { s.Proxy.Kind = "envoy" }, "unknown-proxy cluster.proxy.kind", "nginx, haproxy"},
	{"unknown size", func(s *cluster.Spec, _ *[]cluster.Host) { s.Size = "huge" }, "unknown-size cluster.size", "xlarge"},
	{"unknown mode", func(s *cluster.Spec, _ *[]cluster.Host) { s.KubeProxy.Mode = "ipvs" }, "unknown-mode cluster.kube_proxy.mode", "nftables"},
	{"unknown plugin", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.Plugin = "flannel" }, "unknown-plugin cluster.network.plugin", "bgp"},
	{"nobody forwards Services", func(s *cluster.Spec, _ *[]cluster.Host) { s.KubeProxy.Mode = cluster.KubeProxyNone }, "no-services cluster.kube_proxy.mode", "network.plugin: none"},
	{"overrides of no kube-proxy", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.KubeProxy.Mode, s.Network.Plugin = cluster.KubeProxyNone, cluster.PluginNone
		s.Overrides = map[string]any{"kube_proxy": map[string]any{"conntrack": map[string]any{"maxPerCore": 1}}}
	}, "unused-override cluster.overrides.kube_proxy", "remove the section"},
	{"reflectors without sessions", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.Plugin, s.Network.Reflectors = cluster.PluginNone, []string{"m1"}
	}, "unused-reflectors cluster.network.reflectors", "remove them"},
	{"unknown level", func(s *cluster.Spec, _ *[]cluster.Host) { s.API.PodSecurity.Enforce = "strict" }, "unknown-level cluster.api.pod_security.enforce", "baseline"},
	{"unknown cni", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.CNI = "macvlan" }, "unknown-cni cluster.network.cni", "ptp"},
	{"unknown compaction", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.AutoCompactionMode = "daily" }, "unknown-compaction cluster.etcd.auto_compaction_mode", "revision"},

	{"no such port", func(s *cluster.Spec, _ *[]cluster.Host) { s.API.Port = 70000 }, "bad-port cluster.api.port", "65535"},
	{"API on the kubelet's port", func(s *cluster.Spec, _ *[]cluster.Host) { s.API.Port = 10250 }, "port-clash cluster.api.port", "the kubelet and the API server"},
	{"metrics on etcd's port", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.MetricsURL = "http://127.0.0.1:2379" }, "port-clash cluster.etcd.metrics_url", "port 2379"},
	{"proxy on a master's API port", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Proxy.Port, (*h)[0].Roles = 6443, []string{"master", "proxy"}
	}, "port-clash cluster.proxy.port", "port 6443 of m1"},
	{"metrics address", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.MetricsURL = "127.0.0.1" }, "bad-url cluster.etcd.metrics_url", "http://127.0.0.1:2381"},

	{"lease", func(s *cluster.Spec, _ *[]cluster.Host) { s.LeaderElect.LeaseDuration = 10 * time.Second }, "bad-lease cluster.leader_election", "longer than renew_deadline"},
	{"renew", func(s *cluster.Spec, _ *[]cluster.Host) { s.LeaderElect.RetryPeriod = 9 * time.Second }, "bad-lease cluster.leader_election", "1.2 times"},
	{"events in the data of etcd", events(func(e *cluster.EventsSpec) { e.DataDir = "/var/lib/etcd/events" }), "bad-path cluster.etcd.events.data_dir", "apart from the data"},
	{"a relative path of events", events(func(e *cluster.EventsSpec) { e.DataDir = "events" }), "bad-path cluster.etcd.events.data_dir", "absolute"},
	{"metrics of events", events(func(e *cluster.EventsSpec) { e.MetricsURL = "127.0.0.1" }), "bad-url cluster.etcd.events.metrics_url", "http://127.0.0.1:2481"},
	{"one port of metrics", events(func(e *cluster.EventsSpec) { e.MetricsURL = "http://127.0.0.1:2381" }), "port-clash cluster.etcd.events.metrics_url", "port 2381"},
	{"a quota of events beyond etcd's", events(func(e *cluster.EventsSpec) { e.QuotaBackendBytes = 16 << 30 }), "bad-number cluster.etcd.events.quota_backend_bytes", "8 GiB"},
	{"the log of etcd in the data of events", events(func(*cluster.EventsSpec) {}, func(s *cluster.Spec) {
		s.Overrides = map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "/var/lib/etcd-events"}}}
	}), "bad-path cluster.overrides.etcd.extra_args", "etcd for events"},
	{"an API port of events", events(func(*cluster.EventsSpec) {}, func(s *cluster.Spec) { s.API.Port = 2479 }), "port-clash cluster.api.port", "etcd for events"},
	{"election", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.HeartbeatInterval = 300 * time.Millisecond }, "bad-election cluster.etcd.election_timeout", "1.5s"},
	{"slow election", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.ElectionTimeout = time.Minute }, "bad-election cluster.etcd.election_timeout", "50s"},
	{"negative time", func(s *cluster.Spec, _ *[]cluster.Host) { s.Proxy.ConnectTimeout = -time.Second }, "bad-time cluster.proxy.connect_timeout", "1ms"},

	{"short leaves", func(s *cluster.Spec, _ *[]cluster.Host) { s.Certificates.LeafLifetime = time.Second }, "bad-lifetime cluster.certificates.leaf_lifetime", "1m0s"},
	{"leaves outlive authorities", func(s *cluster.Spec, _ *[]cluster.Host) { s.Certificates.AuthorityLifetime = time.Hour }, "bad-lifetime cluster.certificates.authority_lifetime", "8760h"},
	{"renewed at once", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Certificates.LeafLifetime, s.Certificates.RenewBefore = time.Hour, 2*time.Hour
	}, "bad-lifetime cluster.certificates.renew_before", "each run renews"},

	{"reflector unknown", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.Reflectors = []string{"n1", "n2", "n9"} }, "unknown-reflector cluster.network.reflectors", `"n9"`},
	{"reflector twice", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.Reflectors = []string{"n1", "n2", "n1"} }, "duplicate-reflector cluster.network.reflectors", "n1"},
	{"one reflector", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.Reflectors = []string{"n1"} }, "single-reflector cluster.network.reflectors", "name two"},
	{"reflector is no node", func(s *cluster.Spec, h *[]cluster.Host) {
		*h = append(*h, hosts("p", 31, 1, "proxy")...)
		s.Network.Reflectors = []string{"n1", "n2", "p1"}
	}, "reflector-not-a-node cluster.network.reflectors", "p1"},
	{"reserved number", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.ASN = 23456 }, "bad-asn cluster.network.asn", "64512"},
	{"tiny MTU", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.MTU = 100 }, "bad-mtu cluster.network.mtu", "576"},
	{"settings of Calico with bgp", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.Calico.BlockSize = 25 }, "unused-calico cluster.network.calico", "network.plugin: calico"},
	{"unknown encapsulation", calico(func(n *cluster.NetworkSpec) { n.Calico.Encapsulation = "gre" }), "unknown-encapsulation cluster.network.calico.encapsulation", "vxlan"},
	{"unknown choice of Typha", calico(func(n *cluster.NetworkSpec) { n.Calico.Typha = "yes" }), "unknown-typha cluster.network.calico.typha", "always"},
	{"a plugin beside Calico's", calico(func(n *cluster.NetworkSpec) { n.CNI = "ptp" }), "unused-cni cluster.network.cni", "remove"},
	{"reflectors without BGP", calico(func(n *cluster.NetworkSpec) { n.Calico.Encapsulation, n.Reflectors = "vxlan", []string{"m1", "m2"} }), "unused-reflectors cluster.network.reflectors", "no BGP"},
	{"a setting of Felix that deployer makes", calico(func(n *cluster.NetworkSpec) { n.Calico.Felix = map[string]any{"bpfEnabled": true} }), "owned-setting cluster.network.calico.felix.bpfEnabled", "remove"},
	{"large blocks", calico(func(n *cluster.NetworkSpec) { n.Calico.BlockSize = 19 }), "bad-block-size cluster.network.calico.block_size", "20 to 32"},
	{"blocks for too few nodes", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.Plugin, s.Network.Calico.BlockSize = "calico", 22
		s.PodCIDR, s.NodePrefix = "10.244.0.0/20", 24
	}, "pod-cidr-too-small cluster.network.calico.block_size", "there are 5 nodes"},
	{"a pool without a name", calico(func(n *cluster.NetworkSpec) { n.Calico.Pools = []cluster.CalicoPool{{CIDR: "10.245.0.0/16"}} }), "bad-pool cluster.network.calico.pools", "name"},
	{"two pools of one name", calico(func(n *cluster.NetworkSpec) {
		n.Calico.Pools = []cluster.CalicoPool{{Name: "a", CIDR: "10.245.0.0/16"}, {Name: "a", CIDR: "10.246.0.0/16"}}
	}), "bad-pool cluster.network.calico.pools.a", "rename"},
	{"a pool without a range", calico(func(n *cluster.NetworkSpec) { n.Calico.Pools = []cluster.CalicoPool{{Name: "a"}} }), "bad-cidr cluster.network.calico.pools.a", "range"},
	{"a pool of IPv6", calico(func(n *cluster.NetworkSpec) { n.Calico.Pools = []cluster.CalicoPool{{Name: "a", CIDR: "fd00::/64"}} }), "mixed-families cluster.network.calico.pools.a", "add a range of this family to pod_cidr"},
	{"small blocks of a pool", calico(func(n *cluster.NetworkSpec) {
		n.Calico.Pools = []cluster.CalicoPool{{Name: "a", CIDR: "10.245.0.0/24", BlockSize: 23}}
	}), "bad-block-size cluster.network.calico.pools.a", "24 to 32"},
	{"large IPv6 blocks of a pool", dualStack(func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.Plugin, s.Network.Calico.Pools = "calico", []cluster.CalicoPool{{Name: "a", CIDR: "fd00:5::/64", BlockSize: 112}}
	}), "bad-block-size cluster.network.calico.pools.a", "116 to 128"},
	{"pools that overlap", calico(func(n *cluster.NetworkSpec) {
		n.Calico.Pools = []cluster.CalicoPool{{Name: "a", CIDR: "10.244.8.0/24"}}
	}), "overlap cluster.network.calico.pools.a", "pod_cidr"},
	{"a key without a certificate", func(s *cluster.Spec, _ *[]cluster.Host) { s.Proxy.TLS.PrivateKey = "k" }, "missing-certificate cluster.proxy.tls.certificate", "no certificate"},
	{"TLS of nginx", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Proxy.Kind, s.Proxy.TLS = "nginx", cluster.ProxyTLSSpec{Certificate: "c", PrivateKey: "k"}
		*h = append(*h, cluster.Host{Name: "p1", Address: "172.31.1.9", Roles: []string{"proxy"}})
	}, "tls-of-nginx cluster.proxy.tls", "proxy.kind: haproxy"},
	{"TLS without proxies", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Proxy.TLS = cluster.ProxyTLSSpec{Certificate: "c", PrivateKey: "k"}
	}, "unused-tls cluster.proxy.tls", "role proxy"},
	{"TLS without a key", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Proxy.TLS = cluster.ProxyTLSSpec{Certificate: "c"}
		*h = append(*h, cluster.Host{Name: "p1", Address: "172.31.1.9", Roles: []string{"proxy"}})
	}, "missing-key cluster.proxy.tls.private_key", "private_key_file"},
	{"TLS on the port of the proxy", func(s *cluster.Spec, h *[]cluster.Host) {
		s.Proxy.TLS = cluster.ProxyTLSSpec{Certificate: "c", PrivateKey: "k", Port: 6443}
		*h = append(*h, cluster.Host{Name: "p1", Address: "172.31.1.9", Roles: []string{"proxy"}})
	}, "port-clash cluster.proxy.tls.port", "6443"},
	{"Calico without v", func(s *cluster.Spec, _ *[]cluster.Host) { s.Versions.Calico = "3.31.7" }, "bad-version cluster.versions.calico", "v1.2.3"},
	{"negative mesh", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.MeshBelow = -1 }, "bad-mesh cluster.network.mesh_below", "-1"},

	{"unknown component", override(map[string]any{"api_server": map[string]any{}}), "unknown-component cluster.overrides", "apiserver"},
	{"settings are no map", override(map[string]any{"kubelet": "x"}), "bad-override cluster.overrides.kubelet", "map"},
	{"flags are no map", override(map[string]any{"etcd": map[string]any{"extra_args": []any{"--v=2"}}}), "bad-override cluster.overrides.etcd.extra_args", "map"},
	{"relative log", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "wal"}}}), "bad-path cluster.overrides.etcd.extra_args", "absolute path"},
	{"log is the data", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "/var/lib/etcd"}}}), "bad-path cluster.overrides.etcd.extra_args", "apart from the data"},
	{"log in the data", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "/var/lib/etcd/wal"}}}), "bad-path cluster.overrides.etcd.extra_args", "apart from the data"},
	{"data in the log", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "/var/lib"}}}), "bad-path cluster.overrides.etcd.extra_args", "apart from the data"},
	{"log by a detour", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"wal-dir": "/var/lib/x/../etcd"}}}), "bad-path cluster.overrides.etcd.extra_args", "absolute path"},
	{"flag with dashes", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"--v": 2}}}), "bad-flag cluster.overrides.etcd.extra_args", "without leading dashes"},
	{"no forwarding", func(s *cluster.Spec, _ *[]cluster.Host) { s.Sysctls = map[string]string{"net.ipv4.ip_forward": "0"} }, "fixed-sysctl cluster.sysctls", "must be 1"},
	{"no forwarding, with slashes", func(s *cluster.Spec, _ *[]cluster.Host) { s.Sysctls = map[string]string{"net/ipv4/ip_forward": "0"} }, "fixed-sysctl cluster.sysctls", "must be 1"},
	{"no kernel setting", func(s *cluster.Spec, _ *[]cluster.Host) { s.Sysctls = map[string]string{"vm swappiness": "1"} }, "bad-sysctl cluster.sysctls", "net.core.somaxconn"},
	{"a quota beyond etcd's", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.QuotaBackendBytes = 16 << 30 }, "bad-number cluster.etcd.quota_backend_bytes", "8 GiB"},
	{"no schedule", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.Backup.Schedule = "every day" }, "bad-schedule cluster.etcd.backup.schedule", "systemd.time(7)"},
	{"a schedule of cron", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.Backup.Schedule = "5 4 * * *" }, "bad-schedule cluster.etcd.backup.schedule", "neither weekdays"},
	{"a mistyped recipient", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Etcd.Backup.Recipients = []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q"}
	}, "bad-recipient cluster.etcd.backup.recipients", "checksum"},
	{"half a key of SSH", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.Backup.Recipients = []string{"ssh-rsa AAAA"} }, "bad-recipient cluster.etcd.backup.recipients", "SSH"},
	{"flag that would undo others", override(map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"config-file": "/etc/etcd.yaml"}}}), "reserved-flag cluster.overrides.etcd.extra_args.config-file", "ignore all its flags"},
	{"flag beside extra_args", override(map[string]any{"apiserver": map[string]any{"v": 2}}), "unknown-override cluster.overrides.apiserver", "below extra_args"},
	{"override of a host", func(_ *cluster.Spec, h *[]cluster.Host) { (*h)[3].Overrides = map[string]any{"kublet": nil} }, "unknown-component n1: overrides", `"kublet"`},
	{"pods of one host", func(_ *cluster.Spec, h *[]cluster.Host) {
		(*h)[3].Overrides = map[string]any{"kubelet": map[string]any{"maxPods": 400}}
	}, "node-range-too-small cluster.node_prefix", "n1 overrides"},
	{"relative path", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.DataDir = "etcd" }, "bad-path cluster.etcd.data_dir", "absolute"},
	{"mirror without scheme", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.Mirrors = map[string][]string{"docker.io": {"mirror:5000"}}
	}, "bad-mirror cluster.containerd.mirrors.docker.io", "https://"},
	{"mirror with a password", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.Mirrors = map[string][]string{"docker.io": {"https://user:word@mirror"}}
	}, "bad-mirror cluster.containerd.mirrors.docker.io", "cluster.containerd.credentials"},
	{"mirror of a path", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.Mirrors = map[string][]string{"../../x": {"https://mirror"}}
	}, "bad-registry cluster.containerd.mirrors.../../x", "docker.io"},
	{"authority that is none", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.Authorities = map[string]string{"mirror:5000": "/etc/ssl/ca.pem"}
	}, "bad-certificate cluster.containerd.authorities.mirror:5000", "PEM"},
	{"authority with its key", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.Authorities = map[string]string{"mirror:5000": sampleCA + "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"}
	}, "bad-certificate cluster.containerd.authorities.mirror:5000", "not a certificate"},
	{"proxy without scheme", func(s *cluster.Spec, _ *[]cluster.Host) { s.Containerd.HTTPSProxy = "proxy:3128" }, "bad-proxy cluster.containerd.https_proxy", "http://proxy.example:3128"},
	{"proxy with a quote", func(s *cluster.Spec, _ *[]cluster.Host) { s.Containerd.HTTPProxy = `http://a"b@proxy:3128` }, "bad-proxy cluster.containerd.http_proxy", "http://proxy.example:3128"},
	{"list in no_proxy", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.HTTPSProxy, s.Containerd.NoProxy = "http://proxy:3128", []string{"a,b"}
	}, "bad-proxy cluster.containerd.no_proxy", "a,b"},
	{"no_proxy alone", func(s *cluster.Spec, _ *[]cluster.Host) { s.Containerd.NoProxy = []string{".example"} }, "bad-proxy cluster.containerd.no_proxy", "http_proxy"},
	{"credentials of a path", credentials("../x", cluster.RegistryCredentials{Username: "u", Password: "p"}), "bad-registry cluster.containerd.credentials.../x", "docker.io"},
	{"no password", credentials("docker.io", cluster.RegistryCredentials{Username: "u"}), "bad-credentials cluster.containerd.credentials.docker.io", "password_file"},
	{"no user", credentials("docker.io", cluster.RegistryCredentials{Password: "p"}), "bad-credentials cluster.containerd.credentials.docker.io", "username"},
	{"user with a colon", credentials("docker.io", cluster.RegistryCredentials{Username: "a:b", Password: "p"}), "bad-credentials cluster.containerd.credentials.docker.io.username", "colon"},
	{"password of two lines", credentials("docker.io", cluster.RegistryCredentials{Username: "u", Password: "p\nq"}), "bad-credentials cluster.containerd.credentials.docker.io", "end of a line"},
	{"fingerprint", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.Backup.Fingerprint = "sha256:1a2b" }, "bad-fingerprint cluster.etcd.backup.fingerprint", "use the 32 characters that deployer etcd backup prints"},
	{"recipient", func(s *cluster.Spec, _ *[]cluster.Host) { s.Etcd.Backup.Recipients = []string{"AGE-SECRET-KEY-1"} }, "bad-recipient cluster.etcd.backup.recipients", "no public key of age or SSH"},
	{"virtual address that is a name", virtualIP(cluster.VirtualIPSpec{Address: "api.example"}), "bad-address cluster.api.virtual_ip.address", "10.0.0.100"},
	{"virtual address with a network", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100/24"}), "bad-address cluster.api.virtual_ip.address", "without a prefix length"},
	{"virtual address of a host", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.12"}), "duplicate-address cluster.api.virtual_ip.address", "the address of host m2"},
	{"virtual address among the pods", virtualIP(cluster.VirtualIPSpec{Address: "10.244.0.9"}), "overlap cluster.api.virtual_ip.address", "in pod_cidr 10.244.0.0/16"},
	{"virtual address among the Services", virtualIP(cluster.VirtualIPSpec{Address: "10.96.0.9"}), "overlap cluster.api.virtual_ip.address", "in service_cidr 10.96.0.0/16"},
	{"virtual address of another family", virtualIP(cluster.VirtualIPSpec{Address: "fd00::9"}), "mixed-families cluster.api.virtual_ip.address", "172.31.0.11 of m1"},
	{"former virtual address without one", virtualIP(cluster.VirtualIPSpec{Former: []string{"172.31.0.99"}}), "unused-address cluster.api.virtual_ip.former", "clients use after 172.31.0.99"},
	{"former virtual address twice", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100", Former: []string{"172.31.0.99", "172.31.0.100"}}), "duplicate-address cluster.api.virtual_ip.former[1]", "write each once"},
	{"former virtual address of a host", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100", Former: []string{"172.31.0.12"}}), "duplicate-address cluster.api.virtual_ip.former[0]", "the address of host m2"},
	{"former virtual address that is a name", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100", Former: []string{"api"}}), "bad-address cluster.api.virtual_ip.former[0]", "without a prefix length"},
	{"virtual router id", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100", RouterID: 256}), "bad-router-id cluster.api.virtual_ip.router_id", "1 to 255"},
	{"port of witnesses", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100", WitnessPort: 10250}), "port-clash cluster.api.virtual_ip.witness_port", "the kubelet and the witness"},
	{"no port of witnesses", virtualIP(cluster.VirtualIPSpec{Address: "172.31.0.100", WitnessPort: -1}), "bad-port cluster.api.virtual_ip.witness_port", "65535"},
	{"interface without a virtual address", virtualIP(cluster.VirtualIPSpec{Interface: "eth1"}), "unused-interface cluster.api.virtual_ip.interface", "eth1"},
	{"two hosts and a virtual address", func(s *cluster.Spec, h *[]cluster.Host) {
		s.API.VirtualIP.Address, s.Etcd.AllowEven, *h = "172.31.0.100", true, masters(2)
	}, "no-majority cluster.api.virtual_ip.address", "2 hosts cannot tell"},
	{"virtual address of nginx", func(s *cluster.Spec, h *[]cluster.Host) {
		s.API.VirtualIP.Address, s.Proxy.Kind = "172.31.0.100", "nginx"
		*h = append(*h, hosts("p", 30, 1, "proxy")...)
	}, "proxy-cannot-listen cluster.api.virtual_ip.address", "cluster.proxy.kind: haproxy"},
	{"zones of nobody", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.ReflectorLabel = "zone" }, "unused-reflector-label cluster.network.reflector_label", "no node has the label zone"},
	{"zones and names", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.ReflectorLabel, s.Network.Reflectors = "zone", []string{"m1", "m2"}
	}, "unused-reflector-label cluster.network.reflector_label", "remove one"},
	{"zones without BGP", func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Network.ReflectorLabel, s.Network.Plugin = "zone", cluster.PluginNone
	}, "unused-reflector-label cluster.network.reflector_label", "no BGP sessions"},
	{"zones inside of racks", peers(cluster.BGPSpec{RackLabel: "rack"}, inRacks, func(s *cluster.Spec, _ []cluster.Host) { s.Network.ReflectorLabel = "rack" }), "unused-reflector-label cluster.network.reflector_label", "inside of their racks"},
	{"routers without BGP", peers(cluster.BGPSpec{}, func(s *cluster.Spec, _ []cluster.Host) { s.Network.Plugin = cluster.PluginNone }), "unused-bgp cluster.network.bgp", "remove"},
	{"routers with VXLAN", peers(cluster.BGPSpec{}, func(s *cluster.Spec, _ []cluster.Host) {
		s.Network.Plugin, s.Network.Calico.Encapsulation = cluster.PluginCalico, cluster.EncapsulationVXLAN
	}), "unused-bgp cluster.network.bgp", "no BGP"},
	{"a router without a name", peer(func(p *cluster.BGPPeerSpec) { p.Name = "ToR A" }), "bad-peer cluster.network.bgp.peers[0].name", "small letters"},
	{"two routers of a name", peers(cluster.BGPSpec{Peers: []cluster.BGPPeerSpec{{Name: "tor", Address: "172.31.9.9", ASN: 65010}}}), "bad-peer cluster.network.bgp.peers[1].name", "rename"},
	{"a router without an address", peer(func(p *cluster.BGPPeerSpec) { p.Address = "tor.example" }), "bad-address cluster.network.bgp.peers[0].address", "IP address"},
	{"a router that is a host", peer(func(p *cluster.BGPPeerSpec) { p.Address = "172.31.0.11" }), "bad-address cluster.network.bgp.peers[0].address", "of host m1"},
	{"a router of another family", peer(func(p *cluster.BGPPeerSpec) { p.Address = "fd00::1" }), "mixed-families cluster.network.bgp.peers[0].address", "no pods of the family"},
	{"two sessions with a router", peers(cluster.BGPSpec{Peers: []cluster.BGPPeerSpec{{Name: "other", Address: "172.31.9.1", ASN: 65010}}}), "bad-peer cluster.network.bgp.peers[1].address", "as other, too"},
	{"a router of no node", peer(func(p *cluster.BGPPeerSpec) { p.Nodes = map[string]string{"rack": "a"} }), "unused-peer cluster.network.bgp.peers[0].nodes", "labels"},
	{"a router without a number", peer(func(p *cluster.BGPPeerSpec) { p.ASN = 0 }), "bad-asn cluster.network.bgp.peers[0].asn", "that of the router"},
	{"a reserved number for a router", peer(func(p *cluster.BGPPeerSpec) { p.LocalASN = 65535 }), "bad-asn cluster.network.bgp.peers[0].local_asn", "64512"},
	{"a router too far away", peer(func(p *cluster.BGPPeerSpec) { p.Hops = 256 }), "bad-number cluster.network.bgp.peers[0].hops", "1 to 255"},
	{"routes of a router far away", peer(func(p *cluster.BGPPeerSpec) { p.Hops, p.AcceptAll = 2, true }), "far-router cluster.network.bgp.peers[0].accept", "no neighbour"},
	{"a password that BIRD does not read", peer(func(p *cluster.BGPPeerSpec) { p.Password = `a"b` }), "bad-password cluster.network.bgp.peers[0].password", "letters"},
	{"routes to no range", peer(func(p *cluster.BGPPeerSpec) { p.Accept = []string{"192.0.2.1"} }), "bad-cidr cluster.network.bgp.peers[0].accept", "range"},
	{"routes of another family", peer(func(p *cluster.BGPPeerSpec) { p.Accept = []string{"2001:db8::/32"} }), "mixed-families cluster.network.bgp.peers[0].accept", "its own family"},
	{"BFD with Calico", peer(func(p *cluster.BGPPeerSpec) { p.BFD = true }, onCalico), "no-bfd cluster.network.bgp.peers[0].bfd", "hold time"},
	{"a number of nodes with Calico", peer(func(p *cluster.BGPPeerSpec) { p.LocalASN = 64600 }, onCalico), "unused-setting cluster.network.bgp.peers[0].local_asn", "network.asn"},
	{"racks with Calico", peers(cluster.BGPSpec{RackLabel: "rack"}, onCalico), "unused-racks cluster.network.bgp.rack_label", "vxlan-cross-subnet"},
	{"reflectors across racks", peers(cluster.BGPSpec{RackLabel: "rack"}, inRacks, func(s *cluster.Spec, _ []cluster.Host) { s.Network.Reflectors = []string{"m1", "m2"} }), "unused-reflectors cluster.network.reflectors", "inside of their racks"},
	{"nodes without a rack", peers(cluster.BGPSpec{RackLabel: "rack"}, inRacks, func(_ *cluster.Spec, h []cluster.Host) { h[4].Labels = nil }), "no-rack cluster.network.bgp.rack_label", "no label rack: n2;"},
	{"racks without routers", peers(cluster.BGPSpec{RackLabel: "rack"}, inRacks, func(s *cluster.Spec, h []cluster.Host) {
		s.Network.BGP.Peers[0].Nodes = map[string]string{"rack": "a"}
		h[4].Labels = map[string]string{"rack": "b"}
	}), "no-router cluster.network.bgp.peers", "other racks: n2 (ipv4);"},
	{"Services announced to nobody", func(s *cluster.Spec, _ *[]cluster.Host) { s.Network.BGP.Advertise.ClusterIPs = true }, "unused-advertise cluster.network.bgp.advertise", "add peers"},
	{"an announced range that is none", advertised("192.0.2.1"), "bad-cidr cluster.network.bgp.advertise.external_ips", "range"},
	{"an announced range of pods", advertised("10.244.3.0/24"), "overlap cluster.network.bgp.advertise.external_ips", "10.244.0.0/16"},
	{"two announced ranges", advertised("192.0.2.0/24", "192.0.2.128/25"), "overlap cluster.network.bgp.advertise.external_ips", "named before"},
	{"an announced range of hosts", advertised("172.31.0.0/24"), "overlap cluster.network.bgp.advertise.external_ips", "of host m1"},
	{"an announced range of another family", advertised("2001:db8::/64"), "mixed-families cluster.network.bgp.advertise.external_ips", "pod_cidr"},
	{"negative number", func(s *cluster.Spec, _ *[]cluster.Host) { s.DNS.Replicas = -1 }, "bad-number cluster.dns.replicas", "at least 1"},
	{"sysctl of the kubelet", func(s *cluster.Spec, _ *[]cluster.Host) { s.Sysctls = map[string]string{"kernel.panic": "0"} }, "fixed-sysctl cluster.sysctls", "must be 10"},
}

// peers returns a change that adds a router, which is correct, to the section.
func peers(section cluster.BGPSpec, changes ...func(*cluster.Spec, []cluster.Host)) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, h *[]cluster.Host) {
		s.Network.BGP = section
		s.Network.BGP.Peers = append(slices.Clone(section.Peers), cluster.BGPPeerSpec{Name: "tor", Address: "172.31.9.1", ASN: 65010})
		for _, change := range changes {
			change(s, *h)
		}
	}
}

// peer returns a change of the router of [peers].
func peer(spoil func(*cluster.BGPPeerSpec), changes ...func(*cluster.Spec, []cluster.Host)) func(*cluster.Spec, *[]cluster.Host) {
	return peers(cluster.BGPSpec{}, append(changes, func(s *cluster.Spec, _ []cluster.Host) { spoil(&s.Network.BGP.Peers[0]) })...)
}

func onCalico(s *cluster.Spec, _ []cluster.Host) { s.Network.Plugin = cluster.PluginCalico }

// inRacks puts all hosts into one rack.
func inRacks(_ *cluster.Spec, h []cluster.Host) {
	for i := range h {
		h[i].Labels = map[string]string{"rack": "a"}
	}
}

func advertised(ranges ...string) func(*cluster.Spec, *[]cluster.Host) {
	return peers(cluster.BGPSpec{Advertise: cluster.AdvertiseSpec{ExternalIPs: ranges}})
}

func virtualIP(spec cluster.VirtualIPSpec) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) { s.API.VirtualIP = spec }
}

func credentials(registry string, given cluster.RegistryCredentials) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) {
		s.Containerd.Credentials = map[string]cluster.RegistryCredentials{registry: given}
	}
}

func override(m map[string]any) func(*cluster.Spec, *[]cluster.Host) {
	return func(s *cluster.Spec, _ *[]cluster.Host) { s.Overrides = m }
}

func TestValidate(t *testing.T) {
	for _, tc := range brokenClusters {
		t.Run(tc.name, func(t *testing.T) {
			spec, hosts := good()
			tc.spoil(&spec, &hosts)
			problems := cluster.Validate(spec, hosts)
			var all []string
			for _, p := range problems {
				all = append(all, p.Code+" "+p.Subject+": "+p.Message)
			}
			fits := func(line string) bool {
				return strings.HasPrefix(line, tc.want+": ") && strings.Contains(line, tc.says)
			}
			if len(all) != 1 || !fits(all[0]) {
				t.Errorf("want one problem %q that says %q, got:\n%s", tc.want, tc.says, strings.Join(all, "\n"))
			}
			if _, err := cluster.Resolve(spec, hosts); err == nil {
				t.Error("such a cluster was resolved")
			}
			for _, line := range all {
				if strings.Contains(line, "\n") {
					t.Errorf("more than one line: %q", line)
				}
			}
		})
	}
}

// TestEveryCodeIsTested: a case above shows every code in the source.
func TestEveryCodeIsTested(t *testing.T) {
	files, err := filepath.Glob("validate*.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, tc := range brokenClusters {
		code, _, _ := strings.Cut(tc.want, " ")
		shown[code] = true
	}
	call := regexp.MustCompile(`c\.(?:add|oneOf)\("([a-z-]+)"`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if !shown[m[1]] {
				t.Errorf("%s: no case shows %s", f, m[1])
			}
		}
	}
}

func TestSeveralProblemsAreReportedTogether(t *testing.T) {
	_, err := cluster.Resolve(cluster.Spec{Kubernetes: "v1.2.3", PodCIDR: "x", Size: "big"}, minions(1))
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("want four lines, got:\n%v", err)
	}
}

// TestAllowed checks that risky settings are problems unless the inventory allows them.
func TestAllowed(t *testing.T) {
	cases := map[string]struct {
		spec  cluster.Spec
		hosts []cluster.Host
	}{
		"even":        {cluster.Spec{Etcd: cluster.EtcdSpec{AllowEven: true}}, masters(2)},
		"untested":    {cluster.Spec{Kubernetes: "v1.99.0", AllowUntested: true}, masters(1)},
		"reflector":   {cluster.Spec{AllowSingleRR: true, Network: cluster.NetworkSpec{Reflectors: []string{"n1"}}}, fleet(masters(1), minions(2))},
		"idle host":   {cluster.Spec{}, fleet(masters(1), []cluster.Host{{Name: "spare", Address: "spare.example"}})},
		"proxy+node":  {cluster.Spec{}, fleet(masters(1), hosts("p", 31, 1, "proxy", "minion"))},
		"a thousand":  {cluster.Spec{PodCIDR: "10.128.0.0/13"}, fleet(masters(3), minions(997))},
		"v1.35":       {cluster.Spec{Kubernetes: "v1.35.4"}, masters(1)},
		"own release": {cluster.Spec{Versions: cluster.Versions{Etcd: "v3.5.25"}}, masters(1)},
	}
	for name, tc := range cases {
		if p := cluster.Validate(tc.spec, tc.hosts); len(p) > 0 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestAllowedImageOverrides checks forms of images that pods name, and as many as an expression holds.
func TestAllowedImageOverrides(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	cases := map[string][]string{
		"forms": {
			"nginx", "registry.example/nginx", "nginx:latest", "registry.example:5000/nginx:latest", "docker.io/library/nginx:1.2", "[fd00::1]:5000/a/b" + digest,
			"a/b-c__d.e_f:1.2_3", "localhost/a:1" + digest, "Team.Example/a", "10.0.0.1/a",
		},
		"two images, one replacement": {"a:1", "c:1", "b:1", "c:1"},
		"as many as possible":         manyImages(999, 91),
	}
	for name, images := range cases {
		spec, hosts := good()
		imageOverrides(images...)(&spec, &hosts)
		if p := cluster.Validate(spec, hosts); len(p) > 0 {
			t.Errorf("%s: %v", name, p)
		}
	}
	// The nodes of an upgrade may be older for a while, its API servers not.
	spec, hosts := good()
	imageOverrides("a:1", "b:1")(&spec, &hosts)
	spec.Overrides = map[string]any{"kubelet": map[string]any{"version": "v1.35.4"}}
	if p := cluster.Validate(spec, hosts); len(p) > 0 {
		t.Errorf("older kubelets: %v", p)
	}
	spec.Kubernetes, spec.Overrides = "v1.35.4", map[string]any{"apiserver": map[string]any{"version": "v1.36.3"}}
	if p := cluster.Validate(spec, hosts); len(p) > 0 {
		t.Errorf("newer API servers: %v", p)
	}
}

// manyImages returns n pairs of an image and its replacement, with together the given number of characters
// less one.
func manyImages(n, length int) []string {
	var out []string
	for i := range n {
		image := fmt.Sprintf("registry.example/a%04d", i)
		out = append(out, image, strings.Repeat("b", length-1-len(image)))
	}
	return out
}
