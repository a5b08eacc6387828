package cluster

import (
	"cmp"
	"net/netip"
	"strings"
)

func (r *resolver) endpoints(names []string, port int) []Endpoint {
	out := []Endpoint{}
	for _, name := range names {
		out = append(out, endpoint(name, r.host(name).ip().String(), port))
	}
	return out
}

func (r *resolver) api() API {
	api := API{
		Port:      r.spec.API.Port,
		Local:     httpsURL(localAddress, r.spec.API.Port),
		Endpoints: r.endpoints(r.place.masters, r.spec.API.Port),
		SANs:      orEmpty(r.spec.API.SANs),
	}
	api.External = r.externalURL(r.place.masters[0], r.spec.API.Port)
	if len(r.place.proxies) > 0 {
		api.External = r.externalURL(r.place.proxies[0], r.spec.Proxy.Port)
	}
	api.EndpointHost, _, _ = parseExternalEndpoint(r.spec.API.Endpoint)
	api.VirtualIP = r.virtualIP()
	api.External = cmp.Or(r.endpointURL(), api.VirtualIP.URL, api.External)
	return api
}

// externalURL returns the URL of a port of a host for clients outside of the cluster.
func (r *resolver) externalURL(name string, port int) string {
	h := r.host(name)
	return httpsURL(cmp.Or(externalAddress(h), h.ip().String()), port)
}

// externalAddress returns the external address of a host: an IP address in canonical form, or a name
// as certificates have it.
func externalAddress(h Host) string {
	if a, err := netip.ParseAddr(h.ExternalAddress); err == nil {
		return a.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(h.ExternalAddress), ".")
}

func (r *resolver) etcd() Etcd {
	e := r.etcdMembers(portEtcdClient, portEtcdPeer)
	e.DataDir, e.Token, e.MetricsURL = r.spec.Etcd.DataDir, r.spec.Name, r.spec.Etcd.MetricsURL
	e.Backup, e.BackupURL = r.spec.Etcd.Backup, r.spec.Etcd.Backup.url()
	return e
}

// etcdMembers returns an etcd cluster with the endpoints of its members on the hosts of role etcd.
func (r *resolver) etcdMembers(client, peer int) Etcd {
	e := Etcd{
		Members:   r.endpoints(r.place.etcd, client),
		Peers:     r.endpoints(r.place.etcd, peer),
		Servers:   []string{},
		Dedicated: r.place.etcdDedicated,

		Authority: AuthorityEtcd, User: "deployer",
		CA: CAPath(AuthorityEtcd), ClientCert: pki(CertificateHealthcheck + ".crt"), ClientKey: pki(CertificateHealthcheck + ".key"),
	}
	for _, m := range e.Members {
		e.Servers = append(e.Servers, m.URL)
	}
	e.InitialCluster = InitialCluster(e.Peers)
	return e
}

// memberOn returns the member of an etcd cluster on a host, with its ports.
func memberOn(n Node, client, peer int) *LocalEtcd {
	return &LocalEtcd{Name: n.Name, ClientURL: httpsURL(n.IP, client), PeerURL: httpsURL(n.IP, peer), User: UserEtcd}
}

func (r *resolver) proxy(size SizeProfile) Proxy {
	p := r.spec.Proxy
	return Proxy{
		Kind:              p.Kind,
		KindNamed:         r.proxyNamed,
		Port:              p.Port,
		ConnectTimeout:    shortDuration(p.ConnectTimeout),
		Timeout:           shortDuration(p.Timeout),
		CheckInterval:     shortDuration(size.ProxyCheckInterval),
		MaxFails:          p.MaxFails,
		FailTimeout:       shortDuration(p.FailTimeout),
		WorkerConnections: size.ProxyConnections,
		Backends:          r.endpoints(r.place.masters, r.spec.API.Port),
		TLS:               r.proxyTLS(),
	}
}
