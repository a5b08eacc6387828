package cluster

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
	api.External = api.Endpoints[0].URL
	if proxies := r.endpoints(r.place.proxies, r.spec.Proxy.Port); len(proxies) > 0 {
		api.External = proxies[0].URL
	}
	return api
}

func (r *resolver) etcd() Etcd {
	e := Etcd{
		DataDir:    r.spec.Etcd.DataDir,
		Token:      r.spec.Name,
		Members:    r.endpoints(r.place.etcd, portEtcdClient),
		Peers:      r.endpoints(r.place.etcd, portEtcdPeer),
		Servers:    []string{},
		MetricsURL: r.spec.Etcd.MetricsURL,
		Backup:     r.spec.Etcd.Backup,
		BackupURL:  r.spec.Etcd.Backup.url(),
		Dedicated:  r.place.etcdDedicated,
	}
	for _, m := range e.Members {
		e.Servers = append(e.Servers, m.URL)
	}
	e.InitialCluster = InitialCluster(e.Peers)
	return e
}

func (r *resolver) proxy(size SizeProfile) Proxy {
	p := r.spec.Proxy
	return Proxy{
		Kind:              p.Kind,
		Port:              p.Port,
		ConnectTimeout:    shortDuration(p.ConnectTimeout),
		Timeout:           shortDuration(p.Timeout),
		MaxFails:          p.MaxFails,
		FailTimeout:       shortDuration(p.FailTimeout),
		WorkerConnections: size.ProxyConnections,
		Backends:          r.endpoints(r.place.masters, r.spec.API.Port),
	}
}
