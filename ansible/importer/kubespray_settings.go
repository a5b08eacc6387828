package importer

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// rule maps a variable of Kubespray to a key in the section cluster.
type rule struct {
	path string
	as   func(v any) (any, bool) // converts the value; false when it has no equivalent
}

// rules are the variables with an equivalent. The names come from Kubespray's
// docs/ansible/vars.md and the group_vars of its sample inventory.
var rules = map[string]rule{
	"http_proxy":                                {"containerd.http_proxy", proxyURL},
	"https_proxy":                               {"containerd.https_proxy", proxyURL},
	"no_proxy":                                  {"containerd.no_proxy", split},
	"kube_version":                              {"kubernetes", version},
	"cluster_name":                              {"dns.domain", same},
	"dns_domain":                                {"dns.domain", same},
	"upstream_dns_servers":                      {"dns.upstreams", same},
	"kube_pods_subnet":                          {"pod_cidr", same},
	"kube_service_addresses":                    {"service_cidr", same},
	"kube_network_node_prefix":                  {"node_prefix", number},
	"kube_apiserver_port":                       {"api.port", number},
	"supplementary_addresses_in_ssl_keys":       {"api.sans", same},
	"kubernetes_audit":                          {"api.audit.enabled", boolean},
	"audit_log_maxage":                          {"api.audit.max_age_days", number},
	"audit_log_maxbackups":                      {"api.audit.max_backups", number},
	"audit_log_maxsize":                         {"api.audit.max_size_mib", number},
	"audit_log_path":                            {"api.audit.log_dir", func(v any) (any, bool) { return path.Dir(fmt.Sprint(v)), true }},
	"kube_encrypt_secret_data":                  {"encryption.at_rest", boolean},
	"etcd_data_dir":                             {"etcd.data_dir", same},
	"etcd_events_cluster_enabled":               {"etcd.events.enabled", boolean},
	"etcd_heartbeat_interval":                   {"etcd.heartbeat_interval", milliseconds},
	"etcd_election_timeout":                     {"etcd.election_timeout", milliseconds},
	"etcd_quota_backend_bytes":                  {"etcd.quota_backend_bytes", number},
	"etcd_snapshot_count":                       {"etcd.snapshot_count", number},
	"loadbalancer_apiserver_type":               {"proxy.kind", oneOf("nginx", "haproxy")},
	"kube_proxy_mode":                           {"kube_proxy.mode", oneOf("iptables", "nftables")},
	"global_as_num":                             {"network.asn", number},
	"calico_mtu":                                {"network.mtu", number},
	"calico_pool_blocksize":                     {"network.calico.block_size", number},
	"calico_pool_blocksize_ipv6":                {"network.calico.block_size_ipv6", number},
	"nat_outgoing":                              {"network.calico.nat_outgoing", boolean},
	"typha_enabled":                             {"network.calico.typha", alwaysOrNever},
	"calico_loglevel":                           {"network.calico.felix.logSeverityScreen", capitalized},
	"calico_iptables_backend":                   {"network.calico.felix.iptablesBackend", same},
	"calico_felix_chaininsertmode":              {"network.calico.felix.chainInsertMode", same},
	"calico_felix_mtu_iface_pattern":            {"network.calico.felix.mtuIfacePattern", same},
	"calico_felix_prometheusmetricsenabled":     {"network.calico.felix.prometheusMetricsEnabled", boolean},
	"calico_felix_prometheusmetricsport":        {"network.calico.felix.prometheusMetricsPort", number},
	"calico_advertise_cluster_ips":              {"network.bgp.advertise.cluster_ips", boolean},
	"calico_advertise_service_external_ips":     {"network.bgp.advertise.external_ips", same},
	"calico_advertise_service_loadbalancer_ips": {"network.bgp.advertise.load_balancer_ips", same},
	"calico_version":                            {"versions.calico", version},
	"kubelet_max_pods":                          {"kubelet.max_pods", number},
	"kube_kubeadm_apiserver_extra_args":         {"overrides.apiserver.extra_args", same},
	"kube_kubeadm_controller_extra_args":        {"overrides.controller_manager.extra_args", same},
	"kube_kubeadm_scheduler_extra_args":         {"overrides.scheduler.extra_args", same},
	"kubelet_config_extra_args":                 {"overrides.kubelet", same},
	"additional_sysctl":                         {"sysctls", sysctls},
	"containerd_registries_mirrors":             {"containerd.mirrors", mirrors},
	"kube_apiserver_enable_admission_plugins":   {"overrides.apiserver.extra_args.enable-admission-plugins", commas},
}

// instead are the notes for variables without an equivalent that a reader may look
// for; other variables get "no equivalent".
var instead = map[string]string{
	"calico_ip_auto_method":    "the node's address is node_address, node_network or node_interface of the host",
	"calico_wireguard_enabled": "WireGuard is not supported",
	"calico_bpf_enabled":       "the eBPF dataplane is not supported",
	"kube_proxy_remove":        "write kube_proxy: {mode: none} beside network: {plugin: none} when your pod network forwards the traffic of Services",
	"container_manager":        "the container runtime is containerd",
	"kube_owner":               "files are owned by root",
	"etcd_deployment_type":     "etcd runs under systemd",
	"etcd_version":             "the version follows that of Kubernetes; cluster.versions.etcd overrides it",
	"containerd_version":       "the version follows that of Kubernetes; cluster.versions.containerd overrides it",
	"dns_mode":                 "DNS is CoreDNS",
	"enable_nodelocaldns":      "there is no node-local DNS",
	"kube_api_anonymous_auth":  "anonymous requests are allowed to health endpoints only",
	"kubeconfig_localhost":     "`deployer kubeconfig` writes the kubeconfig file",
	"kubectl_localhost":        "kubectl is on every master",
	"bin_dir":                  "binaries are in /usr/local/bin",
	"local_release_dir":        "no directory of releases is needed",
	"kube_config_dir":          "the configuration is in /etc/kubernetes",
	"kube_cert_dir":            "certificates are in /etc/kubernetes/pki",
	"retry_stagger":            "retries of connections back off automatically",
	"ping_access_ip":           "the preflight checks cover the hosts",
	"download_run_once":        "artifacts are always fetched once, by the controller",
	"download_localhost":       "artifacts are always fetched once, by the controller",
	"event_ttl_duration":       "set it in cluster.overrides.apiserver.extra_args: {event-ttl: ...}",
	"kube_log_level":           "set v in extra_args of each component in cluster.overrides",
	"system_reserved":          "set it in cluster.overrides.kubelet",
	"kube_reserved":            "set it in cluster.overrides.kubelet",
}

// IsConverted reports whether a variable of Kubespray becomes a setting of the inventory.
func IsConverted(name string) bool {
	_, ok := rules[name]
	return ok || slices.Contains(networkVars, name) || slices.Contains(familyVars, name) || slices.Contains(balancerVars, name) || slices.Contains([]string{"ip", "ip6", "access_ip", "etcd_member_name", "node_labels", "node_taints"}, name)
}

// wholeClusterGroups are the groups that have all nodes.
var wholeClusterGroups = []string{"k8s_cluster", "k8s-cluster"}

// clusterVars moves the variables with an equivalent from vs to the section cluster,
// and drops the unset ones. A setting of one group only is noted, because a cluster has
// one value.
func (c *converter) clusterVars(group string, vs vars) {
	if !c.kubespray {
		return
	}
	for _, name := range vs.names() {
		v := vs[name]
		r, known := rules[name]
		if slices.Contains(balancerVars, name) {
			c.loadBalancer(name, v)
			delete(vs, name)
			continue
		}
		if slices.Contains(networkVars, name) || slices.Contains(familyVars, name) {
			if !c.templated(name, v) {
				c.network[name] = v
			}
			delete(vs, name)
			continue
		}
		if v.v == nil || v.v == "" { // set to nothing
			delete(vs, name)
			continue
		}
		if why, ok := instead[name]; ok && !known {
			delete(vs, name)
			if c.off.inactive(name, v.v) {
				continue
			}
			c.note(v.at, describe(name, v.v), why)
			continue
		}
		if !known {
			continue
		}
		delete(vs, name)
		if c.templated(name, v) {
			continue
		}
		out, ok := r.as(v.v)
		if !ok {
			c.note(v.at, describe(name, v.v), cmp.Or(instead[name], "this value has no equivalent at cluster."+r.path))
			continue
		}
		c.cluster.setPath(strings.Split(r.path, "."), out)
		if group != "all" && !slices.Contains(wholeClusterGroups, group) {
			c.note(v.at, describe(name, v.v), "is set for "+group+" only, and holds for the whole cluster here as cluster."+r.path)
		}
	}
}
