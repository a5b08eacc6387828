package cluster

import (
	"strings"
	"unicode"
)

// The settings that deployer writes and overrides may change, by component: nothing else in the
// cluster depends on them. Every other setting that deployer writes is owned.
var openSettings = map[string][]string{
	componentAPIServer: {
		"admission-control-config-file", "allow-privileged", "authentication-config", "authorization-mode", "goaway-chance",
		"kubelet-preferred-address-types", "max-mutating-requests-inflight", "max-requests-inflight", "profiling",
		"service-account-extend-token-expiration", "service-account-issuer", "service-account-lookup",
		"shutdown-delay-duration", "shutdown-watch-termination-grace-period", "tls-cipher-suites", "tls-min-version",
	},
	componentControllerManager: {
		"bind-address", "cluster-signing-duration", "controllers", "kube-api-burst", "kube-api-qps", "profiling",
		"terminated-pod-gc-threshold", "use-service-account-credentials",
	},
	componentScheduler: {"bind-address", "kube-api-burst", "kube-api-qps", "profiling"},
	componentEtcd: {
		"auto-compaction-mode", "auto-compaction-retention", "election-timeout", "experimental-initial-corrupt-check",
		"experimental-watch-progress-notify-interval", "feature-gates", "heartbeat-interval", "quota-backend-bytes", "snapshot-count",
		"tls-min-version", "watch-progress-notify-interval",
	},
	componentKubelet: {
		"authentication.anonymous.enabled", "authentication.webhook.enabled", "authorization.mode", "cgroupDriver", "eventRecordQPS", "maxPods",
		"podPidsLimit", "protectKernelDefaults", "readOnlyPort", "rotateCertificates", "seccompDefault", "tlsCipherSuites", "tlsMinVersion",
	},
	componentKubeProxy: {"metricsBindAddress"},
	componentContainerd: {
		"metrics.address", "oom_score", "root",
		"plugins." + criImages + ".snapshotter",
		"plugins." + criRuntime + ".cni.bin_dirs",
		"plugins." + criRuntime + ".containerd.default_runtime_name",
		"plugins." + criRuntime + ".containerd.runtimes.runc.options.SystemdCgroup",
		"plugins." + criRuntime + ".containerd.runtimes.runc.options.BinaryName",
		"plugins." + criRuntime + ".containerd.runtimes.runc.runtime_type",
	},
}

// insteadSettings are the settings of the inventory from which owned settings come, by component.
var insteadSettings = map[string]map[string]string{
	componentAPIServer: {
		"advertise-address":          "address of the host",
		"audit-log-maxage":           "cluster.api.audit.max_age_days",
		"audit-log-maxbackup":        "cluster.api.audit.max_backups",
		"audit-log-maxsize":          "cluster.api.audit.max_size_mib",
		"audit-log-path":             "cluster.api.audit.log_dir",
		"audit-policy-file":          "cluster.api.audit.policy",
		"encryption-provider-config": "cluster.encryption.at_rest",
		"etcd-servers":               "the role etcd",
		"etcd-servers-overrides":     "cluster.etcd.events",
		"secure-port":                "cluster.api.port",
		"service-cluster-ip-range":   "cluster.service_cidr",
	},
	componentControllerManager: {
		"cluster-cidr":                "cluster.pod_cidr",
		"cluster-name":                "cluster.name",
		"leader-elect-lease-duration": "cluster.leader_election.lease_duration",
		"leader-elect-renew-deadline": "cluster.leader_election.renew_deadline",
		"leader-elect-retry-period":   "cluster.leader_election.retry_period",
		"service-cluster-ip-range":    "cluster.service_cidr",
	},
	componentScheduler: {
		"leader-elect-lease-duration": "cluster.leader_election.lease_duration",
		"leader-elect-renew-deadline": "cluster.leader_election.renew_deadline",
		"leader-elect-retry-period":   "cluster.leader_election.retry_period",
	},
	componentEtcd: {
		"advertise-client-urls":       "address of the host",
		"data-dir":                    "cluster.etcd.data_dir",
		"initial-advertise-peer-urls": "address of the host",
		"initial-cluster-token":       "cluster.name",
		"listen-client-urls":          "address of the host",
		"listen-metrics-urls":         "cluster.etcd.metrics_url",
		"listen-peer-urls":            "address of the host",
	},
	componentKubelet: {
		"clusterDNS":         "cluster.service_cidr, whose tenth address it is, and cluster.dns.node_local",
		"clusterDomain":      "cluster.dns.domain",
		"hostname-override":  "the name of the host",
		"node-ip":            "address of the host",
		"registerWithTaints": "taints of the host or a group",
	},
	componentKubeProxy: {
		"clusterCIDR":      "cluster.pod_cidr",
		"hostnameOverride": "the name of the host",
		"mode":             "cluster.kube_proxy.mode",
	},
	componentContainerd: {
		"plugins." + criImages + ".registry.config_path": "cluster.containerd.mirrors, authorities and credentials",
	},
}

// reservedFlags are flags that deployer does not write, and that would undo what it writes, with
// the reason.
var reservedFlags = map[string]map[string]string{
	componentAPIServer: {
		"etcd-prefix": "backups, restores and the rotation of keys read the keys below /registry",
	},
	componentEtcd: {
		"config-file":           "etcd would ignore all its flags",
		"discovery":             "the members are the hosts of the role etcd",
		"discovery-endpoints":   "the members are the hosts of the role etcd",
		"discovery-srv":         "the members are the hosts of the role etcd",
		"discovery-token":       "the members are the hosts of the role etcd",
		"force-new-cluster":     "the member would forget the others at each start",
		"initial-cluster":       "each run computes it from the members",
		"initial-cluster-state": "each run computes it from the members",
	},
	componentKubelet: {
		"config-dir":    "its files would replace settings that deployer has checked",
		"register-node": "a kubelet that does not register is no node",
		"root-dir":      "deployer checks, mounts and cleans /var/lib/kubelet",
	},
}

// kubeletFlagsOfFields are the kubelet's flags for settings of its file. A flag takes precedence over
// the file, so an owned field has an owned flag. Other flags have the field's name with dashes.
var kubeletFlagsOfFields = map[string]string{
	"authentication.x509.clientCAFile": "client-ca-file",
	"registerWithTaints":               "register-with-taints",
	"staticPodPath":                    "pod-manifest-path",
}

// kubeletFlag returns the flag for a setting of the kubelet's file, by its path.
func kubeletFlag(path string) string {
	if flag := kubeletFlagsOfFields[path]; flag != "" {
		return flag
	}
	var b strings.Builder
	for i, r := range path {
		upper := unicode.IsUpper(r)
		if upper && i > 0 && !unicode.IsUpper(rune(path[i-1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
