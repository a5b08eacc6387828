package cluster_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
)

// ownedOverrides are overrides of what deployer owns, each with the subject and a part of the
// text; a case without a text is allowed.
var ownedOverrides = map[string]string{
	"etcd: {extra_args: {data-dir: /srv/etcd}}":                              `etcd.extra_args.data-dir: deployer sets this to "/var/lib/etcd", and other parts of the cluster depend on it: use cluster.etcd.data_dir`,
	"etcd: {extra_args: {data-dir: null}}":                                   "etcd.extra_args.data-dir: ",
	"etcd: {extra_args: {data-dir: /var/lib/etcd}}":                          "",
	"etcd: {extra_args: {client-cert-auth: false}}":                          `etcd.extra_args.client-cert-auth: deployer sets this to "true", and other parts of the cluster depend on it: leave it out`,
	"etcd: {extra_args: {election-timeout: 2000, heartbeat-interval: 200}}":  "",
	"etcd: {extra_args: {wal-dir: /srv/etcd-log, max-request-bytes: 1}}":     "",
	"apiserver: {extra_args: {etcd-servers: 'https://10.9.9.9:2379'}}":       "apiserver.extra_args.etcd-servers: ",
	"apiserver: {extra_args: {service-cluster-ip-range: 10.97.0.0/16}}":      "use cluster.service_cidr",
	"apiserver: {extra_args: {secure-port: '7443'}}":                         "use cluster.api.port",
	"apiserver: {extra_args: {secure-port: 6443}}":                           "",
	"apiserver: {extra_args: {tls-cert-file: /etc/own.crt}}":                 "apiserver.extra_args.tls-cert-file: ",
	"apiserver: {extra_args: {audit-log-maxage: 3}}":                         "use cluster.api.audit.max_age_days",
	"apiserver: {extra_args: {authorization-mode: 'Node,RBAC,Webhook'}}":     "",
	"apiserver: {extra_args: {service-account-issuer: 'https://t.example'}}": "",
	"apiserver: {extra_args: {enable-admission-plugins: EventRateLimit}}":    "",
	"controller_manager: {extra_args: {cluster-cidr: 10.0.0.0/8}}":           "controller_manager.extra_args.cluster-cidr: ",
	"controller_manager: {extra_args: {allocate-node-cidrs: true}}":          "controller_manager.extra_args.allocate-node-cidrs: ",
	"controller_manager: {extra_args: {bind-address: 0.0.0.0}}":              "",
	"scheduler: {extra_args: {leader-elect: false}}":                         "scheduler.extra_args.leader-elect: ",
	"scheduler: {extra_args: {leader-elect-retry-period: 3s}}":               "use cluster.leader_election.retry_period",
	"kubelet: {clusterDomain: tarn.internal}":                                `kubelet.clusterDomain: deployer sets this to "cluster.local", and other parts of the cluster depend on it: use cluster.dns.domain`,
	"kubelet: {clusterDNS: [10.96.0.99]}":                                    "kubelet.clusterDNS: ",
	"kubelet: {clusterDNS: [10.96.0.10], clusterDomain: cluster.local}":      "",
	"kubelet: {authentication: {x509: {clientCAFile: /etc/ca.crt}}}":         "kubelet.authentication.x509.clientCAFile: ",
	"kubelet: {authentication: {webhook: {cacheTTL: 10s}}, maxPods: 50}":     "",
	"kubelet: {authentication: null}":                                        "kubelet.authentication.x509.clientCAFile: ",
	"kubelet: {staticPodPath: null}":                                         "kubelet.staticPodPath: ",
	"kubelet: {extra_args: {cluster-dns: 10.96.0.99}}":                       "kubelet.extra_args.cluster-dns: ",
	"kubelet: {extra_args: {pod-manifest-path: /etc/pods}}":                  "kubelet.extra_args.pod-manifest-path: ",
	"kubelet: {extra_args: {tls-private-key-file: /etc/own.key}}":            "kubelet.extra_args.tls-private-key-file: ",
	"kubelet: {extra_args: {hostname-override: other}}":                      "use the name of the host",
	"kubelet: {extra_args: {max-pods: 50}}":                                  "",
	"kube_proxy: {mode: nftables}":                                           "use cluster.kube_proxy.mode",
	"kube_proxy: {clientConnection: {kubeconfig: /etc/own.conf}}":            "kube_proxy.clientConnection.kubeconfig: ",
	"kube_proxy: {metricsBindAddress: '0.0.0.0:10249'}":                      "",
	"kube_proxy: {extra_args: {config: /etc/own.yaml}}":                      "kube_proxy.extra_args.config: ",
	"containerd: {root: {state: /run/other}}":                                "containerd.root.state: ",
	"containerd: {root: {root: /data/containerd}}":                           "",
	"containerd: {cni: {conf_dir: /etc/cni/own}}":                            "containerd.cni.conf_dir: ",
	"containerd: {runtime: {cni: {conf_dir: /etc/cni/own}}}":                 "containerd.runtime.cni.conf_dir: ",
	"containerd: {images: {registry: {config_path: /etc/own}}}":              "containerd.images.registry.config_path: ",
	"containerd: {runc: {BinaryName: /usr/local/bin/crun}}":                  "",
}

// TestOwnedOverrides: what deployer writes and depends on cannot be overridden, by the cluster or
// by a host; the same value can.
func TestOwnedOverrides(t *testing.T) {
	for text, want := range ownedOverrides {
		var overrides map[string]any
		if err := yaml.Unmarshal([]byte(text), &overrides); err != nil {
			t.Fatal(err)
		}
		hosts := masters(3)
		_, err := cluster.Resolve(cluster.Spec{Overrides: overrides}, hosts)
		requireOwned(t, text, err, "cluster.overrides.", want)
		hosts[1].Overrides = overrides
		_, err = cluster.Resolve(cluster.Spec{}, hosts)
		requireOwned(t, text, err, "m2: overrides.", want)
	}
}

func requireOwned(t *testing.T, text string, err error, subject, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", text, err)
	case want == "":
	case err == nil:
		t.Errorf("%s is accepted", text)
	case !strings.HasPrefix(err.Error(), subject) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n"):
		t.Errorf("%s: %v\nwant one line %s...%s", text, err, subject, want)
	}
}
