package cluster

import (
	"maps"
	"strings"
)

// Paths of a node that several components use.
const (
	kubeletConfigFile   = "/var/lib/kubelet/config.yaml"
	kubeProxyConfigFile = "/etc/kubernetes/kube-proxy.yaml"
	manifestsDir        = dirKubernetes + "/manifests"
	containerdSocket    = "unix:///run/containerd/containerd.sock"
)

// kubeletFlags are the settings without a field in the kubelet's configuration file.
func kubeletFlags(n Node) map[string]string {
	return map[string]string{
		"config":            kubeletConfigFile,
		"kubeconfig":        dirKubernetes + "/kubelet.conf",
		"hostname-override": n.Name,
		"node-ip":           strings.Join(n.IPs, ","),
	}
}

// kubeProxyFlags is the one setting of kube-proxy outside of its configuration file.
func kubeProxyFlags() map[string]string { return map[string]string{"config": kubeProxyConfigFile} }

// podPidsLimit is the number of processes and threads that one pod may have.
// Without a limit, which is the kubelet's default, one pod can use up the node's
// process IDs. 4096 is OpenShift's default since 4.11 (docs.openshift.com,
// "Configuring PID limits"); 110 such pods use a tenth of the 4194304 IDs that the
// kernel has on 64-bit hosts.
const podPidsLimit = 4096

// kubeletConfig returns a KubeletConfiguration. Unset fields have the kubelet's
// defaults. Sources: kubeadm's set, CIS Kubernetes benchmark section 4.2.
func (r *resolver) kubeletConfig(n Node) map[string]any {
	taints := []any{}
	for _, t := range n.Taints {
		taints = append(taints, map[string]any{"key": t.Key, "value": t.Value, "effect": t.Effect})
	}
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": CAPath(AuthorityCluster)},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"cgroupDriver":             "systemd", // one manager of cgroups on a host that systemd runs
		"clusterDNS":               r.out.DNS.servers(),
		"clusterDomain":            r.out.DNS.Domain,
		"containerRuntimeEndpoint": containerdSocket,
		"eventRecordQPS":           50, // the kubelet's default; 0 would let a node flood the API with events
		"healthzBindAddress":       localAddress,
		"healthzPort":              portKubeletHealth,
		"protectKernelDefaults":    true, // deployer sets what the kubelet wants, see sysctls
		"maxPods":                  r.spec.Kubelet.MaxPods,
		"podPidsLimit":             podPidsLimit,
		"readOnlyPort":             0,
		"registerWithTaints":       taints,
		"rotateCertificates":       !r.out.External(AuthorityCluster), // the controller manager has no key to sign with
		"seccompDefault":           true,                              // the runtime's filter of system calls for pods that choose none
		"staticPodPath":            manifestsDir,
		"tlsCertFile":              dirKubeletPKI + "/kubelet-serving.crt",
		"tlsPrivateKeyFile":        dirKubeletPKI + "/kubelet-serving.key",
		"tlsCipherSuites":          textList(tlsCipherSuites()),
		"tlsMinVersion":            "VersionTLS12",
	}
}

// kubeProxyConfig returns a KubeProxyConfiguration.
func (r *resolver) kubeProxyConfig(n Node) map[string]any {
	return map[string]any{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"clientConnection":   map[string]any{"kubeconfig": dirKubernetes + "/kube-proxy.conf"},
		"clusterCIDR":        strings.Join(r.out.PodCIDRs, ","),
		"hostnameOverride":   n.Name,
		"mode":               r.spec.KubeProxy.Mode,
		"metricsBindAddress": hostPort(localAddress, portKubeProxyMetrics),
	}
}

// swapAllowed reports whether swap may stay on, because the kubelet is configured to
// tolerate it.
func (r *resolver) swapAllowed() bool {
	for _, h := range r.hosts {
		over := mergeLayers(r.spec.Overrides, h.Overrides)
		if section(over, componentKubelet)["failSwapOn"] == false {
			return true
		}
	}
	return false
}

// kubeletSysctls are the kernel settings that a kubelet with protectKernelDefaults
// requires and does not set (component-helpers/node/util/sysctl; setupKernelTunables).
func kubeletSysctls() map[string]string {
	return map[string]string{
		"kernel.keys.root_maxbytes": "25000000",
		"kernel.keys.root_maxkeys":  "1000000",
		"kernel.panic":              "10",
		"kernel.panic_on_oops":      "1",
		"vm.overcommit_memory":      "1",
		"vm.panic_on_oom":           "0",
	}
}

// The kernel settings with which a node routes packets.
const (
	ipForward  = "net.ipv4.ip_forward"
	ip6Forward = "net.ipv6.conf.all.forwarding"
)

// The bounds of the kernel's table of neighbours: entries that are never removed, entries above which
// they are removed after 5 s, and entries at most.
const (
	neighborsKept = "net.ipv4.neigh.default.gc_thresh1"
	neighborsSoft = "net.ipv4.neigh.default.gc_thresh2"
	neighborsMost = "net.ipv4.neigh.default.gc_thresh3"
)

// sysctls returns the kernel settings of every node. A file holds them, so that they
// apply from boot on and their origin is documented.
func sysctls(s Spec, size SizeProfile) map[string]string {
	out := kubeletSysctls()
	out[ipForward] = "1" // pods are routed
	if s.hasIPv6() {
		out[ip6Forward] = "1"
	}
	// kubelet, containerd and pods soon use up the default of 128 instances for root, and
	// then fail with "too many open files". kind's documentation names 512 and 524288 for a
	// few nodes on one machine (known issues, "Pod errors").
	out["fs.inotify.max_user_instances"] = "8192"
	out["fs.inotify.max_user_watches"] = "524288"
	// With the kernel's 128, 512 and 1024 a node of a few hundred forgets neighbours that it needs,
	// and one of 1000 drops packets. These are enough for Kubernetes' 5000 nodes; an unused entry
	// costs nothing.
	if size.Name == SizeLarge || size.Name == SizeXLarge {
		out[neighborsKept], out[neighborsSoft], out[neighborsMost] = "4096", "8192", "16384"
		if s.hasIPv6() {
			for _, name := range []string{neighborsKept, neighborsSoft, neighborsMost} {
				out[strings.Replace(name, "ipv4", "ipv6", 1)] = out[name]
			}
		}
	}
	maps.Copy(out, s.Sysctls)
	return out
}
