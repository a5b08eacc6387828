package importer

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// The groups of Kubespray (inventory/sample/inventory.ini), present names and
// those before 2021.
var (
	masterGroups = []string{"kube_control_plane", "kube-master"}
	nodeGroups   = []string{"kube_node", "kube-node"}
	restGroups   = []string{"etcd", "k8s_cluster", "k8s-cluster", "calico_rr", "calico-rr", "bastion"}
)

func isKubespray(s *Source) bool {
	has := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Groups, n) })
	}
	return has(masterGroups) && has(nodeGroups)
}

// wholeCluster adds the group of all nodes, which present inventories of Kubespray
// do not have: its playbooks make it, and group_vars/k8s_cluster is for it.
func (s *Source) wholeCluster() {
	if slices.Contains(s.Groups, "k8s_cluster") || slices.Contains(s.Groups, "k8s-cluster") {
		return
	}
	s.group("k8s_cluster")
	for _, g := range slices.Concat(masterGroups, nodeGroups) {
		if slices.Contains(s.Groups, g) {
			s.addChild("k8s_cluster", g)
		}
	}
}

func isKubesprayGroup(name string) bool {
	return slices.Contains(slices.Concat(masterGroups, nodeGroups, restGroups), name)
}

// rule says where a variable of Kubespray goes in the section cluster.
type rule struct {
	path string
	as   func(v any) (any, bool) // false: this value has no equivalent
}

func same(v any) (any, bool) { return v, true }

// version is Kubespray's, with or without the v.
func version(v any) (any, bool) { return "v" + strings.TrimPrefix(fmt.Sprint(v), "v"), true }

// milliseconds are what Kubespray gives etcd, as numbers or texts.
func milliseconds(v any) (any, bool) { return fmt.Sprintf("%vms", v), true }

func number(v any) (any, bool) {
	n, ok := literal(fmt.Sprint(v)).(int)
	return n, ok
}

func boolean(v any) (any, bool) {
	b, ok := literal(fmt.Sprint(v)).(bool)
	return b, ok
}

func oneOf(allowed ...string) func(any) (any, bool) {
	return func(v any) (any, bool) { return v, slices.Contains(allowed, fmt.Sprint(v)) }
}

// rules are the variables that have an equivalent, by the names of Kubespray's
// docs/ansible/vars.md and the group_vars of its sample inventory.
var rules = map[string]rule{
	"kube_version":                            {"kubernetes", version},
	"cluster_name":                            {"dns.domain", same},
	"dns_domain":                              {"dns.domain", same},
	"upstream_dns_servers":                    {"dns.upstreams", same},
	"kube_pods_subnet":                        {"pod_cidr", same},
	"kube_service_addresses":                  {"service_cidr", same},
	"kube_network_node_prefix":                {"node_prefix", number},
	"kube_apiserver_port":                     {"api.port", number},
	"supplementary_addresses_in_ssl_keys":     {"api.sans", same},
	"kubernetes_audit":                        {"api.audit.enabled", boolean},
	"audit_log_maxage":                        {"api.audit.max_age_days", number},
	"audit_log_maxbackups":                    {"api.audit.max_backups", number},
	"audit_log_maxsize":                       {"api.audit.max_size_mib", number},
	"audit_log_path":                          {"api.audit.log_dir", func(v any) (any, bool) { return path.Dir(fmt.Sprint(v)), true }},
	"kube_encrypt_secret_data":                {"encryption.at_rest", boolean},
	"etcd_data_dir":                           {"etcd.data_dir", same},
	"etcd_heartbeat_interval":                 {"etcd.heartbeat_interval", milliseconds},
	"etcd_election_timeout":                   {"etcd.election_timeout", milliseconds},
	"etcd_quota_backend_bytes":                {"etcd.quota_backend_bytes", number},
	"etcd_snapshot_count":                     {"etcd.snapshot_count", number},
	"loadbalancer_apiserver_type":             {"proxy.kind", oneOf("nginx", "haproxy")},
	"kube_proxy_mode":                         {"kube_proxy.mode", oneOf("iptables", "nftables")},
	"global_as_num":                           {"network.asn", number},
	"calico_mtu":                              {"network.mtu", number},
	"kubelet_max_pods":                        {"kubelet.max_pods", number},
	"kube_kubeadm_apiserver_extra_args":       {"overrides.apiserver.extra_args", same},
	"kube_kubeadm_controller_extra_args":      {"overrides.controller_manager.extra_args", same},
	"kube_kubeadm_scheduler_extra_args":       {"overrides.scheduler.extra_args", same},
	"kubelet_config_extra_args":               {"overrides.kubelet", same},
	"additional_sysctl":                       {"sysctls", sysctls},
	"containerd_registries_mirrors":           {"containerd.mirrors", mirrors},
	"kube_apiserver_enable_admission_plugins": {"overrides.apiserver.extra_args.enable-admission-plugins", commas},
}

// instead are those for which there is something else to say than "no
// equivalent".
var instead = map[string]string{
	"kube_network_plugin":     "the pod network is BGP with BIRD (cluster.network); Calico is not offered yet",
	"container_manager":       "the container runtime is containerd",
	"kube_owner":              "files belong to root",
	"etcd_deployment_type":    "etcd runs under systemd",
	"etcd_version":            "versions go with that of Kubernetes; cluster.versions.etcd overrides",
	"containerd_version":      "versions go with that of Kubernetes; cluster.versions.containerd overrides",
	"loadbalancer_apiserver":  "its address was added to cluster.api.sans; nodes reach the API through their own proxies",
	"dns_mode":                "DNS is CoreDNS",
	"enable_nodelocaldns":     "there is no node-local DNS yet",
	"kube_api_anonymous_auth": "anonymous requests reach health endpoints only",
	"http_proxy":              "hosts need no way to the internet: artifacts come through the controller",
	"https_proxy":             "hosts need no way to the internet: artifacts come through the controller",
	"no_proxy":                "hosts need no way to the internet: artifacts come through the controller",
	"kubeconfig_localhost":    "`deployer kubeconfig` writes one",
	"kubectl_localhost":       "kubectl is on every master",
	"bin_dir":                 "binaries are in /usr/local/bin",
	"local_release_dir":       "nothing is unpacked in a directory of releases",
	"kube_config_dir":         "the configuration is in /etc/kubernetes",
	"kube_cert_dir":           "certificates are in /etc/kubernetes/pki",
	"retry_stagger":           "connections back off by themselves",
	"ping_access_ip":          "preflight looks at the hosts",
	"download_run_once":       "artifacts are always fetched once, by the controller",
	"download_localhost":      "artifacts are always fetched once, by the controller",
	"event_ttl_duration":      "give it under cluster.overrides.apiserver.extra_args: {event-ttl: ...}",
	"kube_log_level":          "give v under extra_args of each component in cluster.overrides",
	"system_reserved":         "give it under cluster.overrides.kubelet",
	"kube_reserved":           "give it under cluster.overrides.kubelet",
}

// clusterVars moves what has an equivalent from vs to the section cluster.
func (c *converter) clusterVars(vs vars) {
	if !c.kubespray {
		return
	}
	for _, name := range vs.names() {
		v := vs[name]
		r, known := rules[name]
		if name == "apiserver_loadbalancer_domain_name" || name == "loadbalancer_apiserver" {
			c.san(name, v)
			delete(vs, name)
			continue
		}
		if v.v == nil || v.v == "" { // said to be unset
			delete(vs, name)
			continue
		}
		if why, ok := instead[name]; ok && !known {
			delete(vs, name)
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
			c.note(v.at, describe(name, v.v), "this value has no equivalent at cluster."+r.path)
			continue
		}
		c.cluster.setPath(strings.Split(r.path, "."), out)
	}
}

// san adds names and addresses of a load balancer to the API's certificate.
func (c *converter) san(name string, v value) {
	add := fmt.Sprint(v.v)
	if m, ok := v.v.(map[string]any); ok {
		add = fmt.Sprint(m["address"])
		c.note(v.at, describe(name, v.v), instead[name])
	}
	if hasJinja(add) || add == "" {
		c.note(v.at, describe(name, v.v), "has a Jinja template: put the name into cluster.api.sans")
		return
	}
	c.sans = append(c.sans, add)
}

func (c *converter) addSANs() {
	if c.sans == nil {
		return
	}
	var given []any
	if i := c.cluster.find("api"); i >= 0 {
		api := mapping{node: *c.cluster.node.Content[i+1]}
		if j := api.find("sans"); j >= 0 && api.node.Content[j+1].Decode(&given) != nil {
			return // not a list: validate says so
		}
	}
	for _, add := range c.sans {
		if !slices.Contains(given, add) {
			given = append(given, add)
		}
	}
	c.cluster.setPath([]string{"api", "sans"}, given)
}

func sysctls(v any) (any, bool) {
	list, ok := v.([]any)
	out := map[string]any{}
	for _, e := range list {
		m, isMap := e.(map[string]any)
		if !isMap {
			return nil, false
		}
		out[fmt.Sprint(m["name"])] = fmt.Sprint(m["value"])
	}
	return out, ok
}

// mirrors reads [{prefix, mirrors: [{host, ...}]}].
func mirrors(v any) (any, bool) {
	list, ok := v.([]any)
	out := map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		var hosts []any
		all, _ := m["mirrors"].([]any)
		for _, mirror := range all {
			if h, isMap := mirror.(map[string]any); isMap {
				hosts = append(hosts, h["host"])
			}
		}
		if m["prefix"] == nil || hosts == nil {
			return nil, false
		}
		out[fmt.Sprint(m["prefix"])] = hosts
	}
	return out, ok
}

func commas(v any) (any, bool) {
	list, ok := v.([]any)
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return strings.Join(out, ","), ok
}

// labels moves node_labels and node_taints to where they belong here.
func (c *converter) labels(vs vars, into *mapping) {
	if !c.kubespray {
		return
	}
	if v, ok := vs["node_labels"]; ok {
		if m, isMap := v.v.(map[string]any); isMap && !hasJinja(m) {
			labels := map[string]any{}
			for k, e := range m {
				labels[k] = fmt.Sprint(e)
			}
			into.set("labels", labels)
			delete(vs, "node_labels")
		}
	}
	if v, ok := vs["node_taints"]; ok {
		if list, isList := v.v.([]any); isList && !hasJinja(list) {
			into.set("taints", list)
			delete(vs, "node_taints")
		}
	}
}

// labelsOfRole notes labels that Kubespray gives to a whole role.
func (c *converter) labelsOfRole(group string, vs vars) {
	for _, name := range []string{"node_labels", "node_taints"} {
		if v, ok := vs[name]; ok {
			delete(vs, name)
			c.note(v.at, describe(name, v.v), "is for the whole of "+group+": make a group of these hosts and give it labels or taints")
		}
	}
}

// roles says what hosts are for.
func (c *converter) roles() *mapping {
	out := &mapping{}
	if !c.kubespray {
		return out
	}
	masters, minions, etcd := c.named(masterGroups), c.named(nodeGroups), c.named([]string{"etcd"})
	if slices.Equal(masters, etcd) {
		etcd = nil // the default
	}
	for _, r := range []struct {
		role  string
		hosts []any
	}{{"master", masters}, {"minion", minions}, {"etcd", etcd}} {
		if r.hosts != nil {
			out.set(r.role, r.hosts)
		}
	}
	for _, m := range masters {
		if slices.Contains(minions, m) {
			c.cluster.set("schedulable_masters", true)
		}
	}
	c.reflectors(masters, minions)
	return out
}

// named are the hosts of groups, by the names that they have here.
func (c *converter) named(groups []string) []any {
	var out []any
	for _, g := range groups {
		for _, h := range c.src.in(g) {
			out = append(out, c.names[h])
		}
	}
	return out
}

func (c *converter) reflectors(masters, minions []any) {
	var out []any
	for _, g := range []string{"calico_rr", "calico-rr"} {
		for _, h := range c.src.in(g) {
			if name := c.names[h]; slices.Contains(masters, any(name)) || slices.Contains(minions, any(name)) {
				out = append(out, name)
				continue
			}
			c.note("", "host "+h+" in "+g, "is no node of the cluster: route reflectors are nodes here")
		}
	}
	if out != nil {
		c.cluster.setPath([]string{"network", "reflectors"}, out)
	}
}

// bastionGroup makes the host of Kubespray's group bastion the way to all.
func (c *converter) bastionGroup(ssh *mapping) {
	if !c.kubespray {
		return
	}
	hosts := c.src.in("bastion")
	if len(hosts) == 0 {
		return
	}
	hop := map[string]any{"address": hosts[0]}
	vs := c.src.hostVars[hosts[0]]
	if v, ok := vs["ansible_host"]; ok {
		hop["address"] = v.v
	}
	if v, ok := vs["ansible_user"]; ok {
		hop["user"] = v.v
	}
	ssh.set("bastion", []any{hop})
}
