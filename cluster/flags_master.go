package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The components that overrides can name.
const (
	componentAPIServer         = "apiserver"
	componentControllerManager = "controller_manager"
	componentScheduler         = "scheduler"
	componentKubelet           = "kubelet"
	componentKubeProxy         = "kube_proxy"
	componentContainerd        = "containerd"
	componentEtcd              = "etcd"
)

// Files that only the API server reads.
const (
	dirAPIServer       = dirKubernetes + "/apiserver"
	authenticationFile = dirAPIServer + "/authentication.yaml"
	admissionFile      = dirAPIServer + "/admission.yaml"
	auditPolicyFile    = dirAPIServer + "/audit-policy.yaml"
	encryptionFile     = dirKubernetes + "/encryption.yaml"
)

func pki(file string) string { return dirPKI + "/" + file }

// apiServerFlags are the flags of one API server. Sources of the secure ones:
// kubeadm's own set, and the CIS Kubernetes benchmark, section 1.2.
func (r *resolver) apiServerFlags(n Node) map[string]any {
	c := r.out
	out := map[string]any{
		"admission-control-config-file":      admissionFile,
		"advertise-address":                  n.IP,
		"allow-privileged":                   "true", // kube-proxy and other node agents need it; Pod Security admission guards the rest
		"authentication-config":              authenticationFile,
		"authorization-mode":                 "Node,RBAC",
		"client-ca-file":                     CAPath(AuthorityCluster),
		"etcd-cafile":                        CAPath(AuthorityEtcd),
		"etcd-certfile":                      pki("apiserver/apiserver-etcd-client.crt"),
		"etcd-keyfile":                       pki("apiserver/apiserver-etcd-client.key"),
		"etcd-servers":                       strings.Join(etcdServers(c.Etcd, n.Etcd), ","),
		"kubelet-certificate-authority":      CAPath(AuthorityCluster), // kubelets serve certificates of this cluster, so check them
		"kubelet-client-certificate":         pki("apiserver/apiserver-kubelet-client.crt"),
		"kubelet-client-key":                 pki("apiserver/apiserver-kubelet-client.key"),
		"kubelet-preferred-address-types":    "InternalIP,ExternalIP,Hostname",
		"max-mutating-requests-inflight":     strconv.Itoa(c.Size.MutatingInflight),
		"max-requests-inflight":              strconv.Itoa(c.Size.RequestsInflight),
		"profiling":                          "false",
		"proxy-client-cert-file":             pki("apiserver/front-proxy-client.crt"),
		"proxy-client-key-file":              pki("apiserver/front-proxy-client.key"),
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-client-ca-file":       CAPath(AuthorityFrontProxy),
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-username-headers":     "X-Remote-User",
		"secure-port":                        strconv.Itoa(c.API.Port),
		// Without this flag a stopping API server waits for the watches of its clients, which
		// last for minutes, until the kubelet kills it after 30 s.
		"shutdown-watch-termination-grace-period": "10s",
		// A token is valid for the hour that its pod was promised. Clients reread their token
		// file since Kubernetes 1.21; the default extends tokens to a year for clients that do
		// not.
		"service-account-extend-token-expiration": "false",
		"service-account-issuer":                  issuers(c.DNS),
		"service-account-key-file":                pki("sa.pub"),
		"service-account-lookup":                  "true", // the tokens of a deleted account end with it
		"service-account-signing-key-file":        pki("sa.key"),
		"service-cluster-ip-range":                strings.Join(c.ServiceCIDRs, ","),
		"tls-cert-file":                           pki("apiserver/apiserver.crt"),
		"tls-cipher-suites":                       strings.Join(tlsCipherSuites(), ","),
		"tls-min-version":                         "VersionTLS12",
		"tls-private-key-file":                    pki("apiserver/apiserver.key"),
	}
	if c.EtcdEvents != nil {
		out["etcd-servers-overrides"] = eventsOverride(*c.EtcdEvents, n)
	}
	if c.Encryption.AtRest {
		out["encryption-provider-config"] = c.Encryption.File
	}
	if len(c.Masters) > 1 {
		// Connections live long and would all stay with the masters that did not
		// restart; one request in a thousand moves its connection. The flag's own
		// help recommends the figure, and not to use it with a single server.
		out["goaway-chance"] = "0.001"
		// While an API server that stops still serves, the proxies of nodes and kube-proxy learn
		// from /readyz and from the Service kubernetes to use the others: two checks, the second
		// one after 500ms.
		out["shutdown-delay-duration"] = c.Size.ProxyCheckInterval + time.Second
	}
	if a := r.spec.API.Audit; *a.Enabled {
		out["audit-policy-file"] = auditPolicyFile
		out["audit-log-path"] = a.LogDir + "/audit.log"
		out["audit-log-maxage"] = strconv.Itoa(a.MaxAgeDays)
		out["audit-log-maxbackup"] = strconv.Itoa(a.MaxBackups)
		out["audit-log-maxsize"] = strconv.Itoa(a.MaxSizeMiB)
	}
	return out
}

// issuers returns the issuers of tokens of service accounts that an API server accepts. New tokens
// have the first.
func issuers(d DNS) []any {
	var out []any
	for _, domain := range d.domains() {
		out = append(out, "https://kubernetes.default.svc."+domain)
	}
	return out
}

// etcdServers lists the client URLs of an etcd cluster, that of this host's own member first. None is
// loopback, although members listen there: an etcd that gets SIGTERM waits 7 s
// for the watches of each of its listeners, one listener after the other
// (etcd server/embed, Etcd.Close), so all watches should come in by one.
func etcdServers(e Etcd, own LocalEtcd) []string {
	if own.ClientURL == "" {
		return e.Servers
	}
	others := slices.DeleteFunc(slices.Clone(e.Servers), func(u string) bool { return u == own.ClientURL })
	return append([]string{own.ClientURL}, others...)
}

func (r *resolver) controllerManagerFlags() map[string]string {
	c := r.out
	kubeconfig := dirKubernetes + "/controller-manager.conf"
	out := map[string]string{
		"allocate-node-cidrs":              "false", // deployer allocates them, before the kubelet starts
		"authentication-kubeconfig":        kubeconfig,
		"authorization-kubeconfig":         kubeconfig,
		"bind-address":                     localAddress,
		"client-ca-file":                   CAPath(AuthorityCluster),
		"cluster-cidr":                     strings.Join(c.PodCIDRs, ","),
		"cluster-name":                     c.Name,
		"controllers":                      "*",
		"kube-api-burst":                   strconv.Itoa(c.Size.ControllerBurst),
		"kube-api-qps":                     strconv.Itoa(c.Size.ControllerQPS),
		"kubeconfig":                       kubeconfig,
		"profiling":                        "false",
		"requestheader-client-ca-file":     CAPath(AuthorityFrontProxy),
		"root-ca-file":                     CAPath(AuthorityCluster),
		"service-account-private-key-file": pki("sa.key"),
		"service-cluster-ip-range":         strings.Join(c.ServiceCIDRs, ","),
		"terminated-pod-gc-threshold":      "12500", // Kubernetes' default (kube-controller-manager --help); finished pods beyond it are deleted
		"use-service-account-credentials":  "true",
	}
	if !c.External(AuthorityCluster) { // without the files it signs nothing
		out["cluster-signing-cert-file"] = pki("ca-signing.crt") // ca.crt has two certificates during a rotation
		out["cluster-signing-key-file"] = pki("ca.key")
		if leaf := c.Certificates.Leaf; leaf != defaultLeafLifetime { // which is the flag's default, too
			out["cluster-signing-duration"] = leaf.String()
		}
	}
	r.leaderElection(out)
	return out
}

func (r *resolver) schedulerFlags() map[string]string {
	kubeconfig := dirKubernetes + "/scheduler.conf"
	out := map[string]string{
		"authentication-kubeconfig": kubeconfig,
		"authorization-kubeconfig":  kubeconfig,
		"bind-address":              localAddress,
		"kube-api-burst":            strconv.Itoa(r.out.Size.SchedulerBurst),
		"kube-api-qps":              strconv.Itoa(r.out.Size.SchedulerQPS),
		"kubeconfig":                kubeconfig,
		"profiling":                 "false",
	}
	r.leaderElection(out)
	return out
}

func (r *resolver) leaderElection(flags map[string]string) {
	l := r.spec.LeaderElect
	flags["leader-elect"] = "true"
	flags["leader-elect-lease-duration"] = l.LeaseDuration.String()
	flags["leader-elect-renew-deadline"] = l.RenewDeadline.String()
	flags["leader-elect-retry-period"] = l.RetryPeriod.String()
}

// etcdFlags are the flags of one etcd member, less initial-cluster and
// initial-cluster-state.
func (r *resolver) etcdFlags(n Node) map[string]string {
	return r.memberFlags(r.out.Etcd, n.Etcd, dirEtcdPKI, portEtcdClient, r.out.Size.EtcdQuotaBytes, n.Versions.Etcd)
}

// memberFlags are the flags of a member of an etcd cluster. pki is the directory with its certificates,
// client the port of its clients, quota the maximum size of its database in bytes.
func (r *resolver) memberFlags(e Etcd, member LocalEtcd, pki string, client int, quota int64, version string) map[string]string {
	s := r.spec.Etcd
	out := map[string]string{
		"name":                        member.Name,
		"data-dir":                    e.DataDir,
		"listen-client-urls":          fmt.Sprintf("%s,%s", member.ClientURL, httpsURL(localAddress, client)),
		"advertise-client-urls":       member.ClientURL,
		"listen-peer-urls":            member.PeerURL,
		"initial-advertise-peer-urls": member.PeerURL,
		"initial-cluster-token":       e.Token,
		"listen-metrics-urls":         e.MetricsURL,
		"cert-file":                   pki + "/server.crt",
		"key-file":                    pki + "/server.key",
		"client-cert-auth":            "true",
		"trusted-ca-file":             e.CA,
		"peer-cert-file":              pki + "/peer.crt",
		"peer-key-file":               pki + "/peer.key",
		"peer-client-cert-auth":       "true",
		"peer-trusted-ca-file":        e.CA,
		"tls-min-version":             "TLS1.2",
		"heartbeat-interval":          strconv.FormatInt(s.HeartbeatInterval.Milliseconds(), 10), // ms
		"election-timeout":            strconv.FormatInt(s.ElectionTimeout.Milliseconds(), 10),   // ms
		"snapshot-count":              strconv.Itoa(s.SnapshotCount),
		"quota-backend-bytes":         strconv.FormatInt(quota, 10),
		"auto-compaction-mode":        s.AutoCompactionMode,
		"auto-compaction-retention":   s.AutoCompactionRetention,
	}
	// Two flags lost their "experimental" with etcd 3.6. A member that starts
	// compares its data with the others first and refuses to serve what differs;
	// the API server's watch cache wants news at least every 5 s. kubeadm sets
	// both (cmd/kubeadm/app/phases/etcd/local.go).
	if atLeast(version, "3.6.0") {
		out["feature-gates"] = "InitialCorruptCheck=true"
		out["watch-progress-notify-interval"] = "5s"
	} else {
		out["experimental-initial-corrupt-check"] = "true"
		out["experimental-watch-progress-notify-interval"] = "5s"
	}
	return out
}
