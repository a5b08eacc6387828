package cluster

import (
	"cmp"
	"fmt"
	"path"
	"strings"
)

// Names of etcd clusters. On a host, unit, files and directories of a cluster begin with its name;
// tasks select by it.
const (
	EtcdOwn    = "etcd"        // the cluster's own, which has all objects
	EtcdEvents = "etcd-events" // the one that has events only
	EtcdCalico = "etcd-calico" // the one that has the objects of Calico
)

// EtcdRoot is the user of an etcd cluster with users who may do everything.
const EtcdRoot = "root"

// EventsSpec is the `cluster.etcd.events:` section.
type EventsSpec struct {
	Enabled           bool   `yaml:"enabled" default:"false" doc:"Whether events are in an etcd cluster of their own, with a member on each host of role etcd (ports 2479 and 2480), so that writing them delays no other write. A cluster in use may change it: its API servers restart one after the other, and events that were written before are not shown any more. Members have the version, times and certificates of the cluster's own etcd, but not its overrides."`
	DataDir           string `yaml:"data_dir" default:"/var/lib/etcd-events" doc:"Directory of the data, best on another disk than that of etcd."`
	QuotaBackendBytes int64  `yaml:"quota_backend_bytes" default:"2147483648" doc:"Size of the database in bytes at which etcd refuses to write further events."`
	MetricsURL        string `yaml:"metrics_url" default:"http://127.0.0.1:2481" doc:"URL on which the members serve metrics and health without a client certificate."`
}

// withDefaults: 2 GiB is etcd's own default. Events are deleted after an hour, so that 1000 nodes
// with 100 events an hour each, of 2 KiB, need 200 MiB.
func (s EventsSpec) withDefaults() EventsSpec {
	s.DataDir = cmp.Or(s.DataDir, "/var/lib/etcd-events")
	s.QuotaBackendBytes = cmp.Or(s.QuotaBackendBytes, 2*gib)
	s.MetricsURL = cmp.Or(s.MetricsURL, "http://127.0.0.1:2481")
	return s
}

// EtcdNames returns the names of the etcd clusters that the cluster has, its own first.
func (c *Cluster) EtcdNames() []string {
	names := []string{EtcdOwn}
	if c.EtcdEvents != nil {
		names = append(names, EtcdEvents)
	}
	if c.EtcdCalico != nil {
		names = append(names, EtcdCalico)
	}
	return names
}

// EtcdNamed returns the etcd cluster with a name of [Cluster.EtcdNames]; an empty name means the
// cluster's own.
func (c *Cluster) EtcdNamed(name string) (Etcd, error) {
	switch {
	case name == "" || name == EtcdOwn:
		return c.Etcd, nil
	case name == EtcdEvents && c.EtcdEvents != nil:
		return *c.EtcdEvents, nil
	case name == EtcdCalico && c.EtcdCalico != nil:
		return *c.EtcdCalico, nil
	}
	return Etcd{}, fmt.Errorf("the cluster has no etcd cluster %q: it has %s", name, strings.Join(c.EtcdNames(), ", "))
}

// etcdEvents returns the etcd cluster of events; nil without one.
func (r *resolver) etcdEvents() *Etcd {
	s := r.spec.Etcd.Events
	if !s.Enabled {
		return nil
	}
	e := r.etcdMembers(portEventsClient, portEventsPeer)
	e.DataDir, e.Token, e.MetricsURL = s.DataDir, r.spec.Name+"-events", s.MetricsURL
	e.Backup = r.spec.Etcd.Backup.onDemand()
	return &e
}

// eventsMember returns the member of events of a host of role etcd; nil without one.
func (r *resolver) eventsMember(n Node) *LocalEtcd {
	if !r.spec.Etcd.Events.Enabled {
		return nil
	}
	return memberOn(n, portEventsClient, portEventsPeer)
}

// addEvents adds the flags and directories of the host's member of events.
func (r *resolver) addEvents(n *Node) {
	if n.EtcdEvents == nil {
		return
	}
	own := r.memberFlags(*r.out.EtcdEvents, *n.EtcdEvents, dirEtcdPKI, portEventsClient, r.spec.Etcd.Events.QuotaBackendBytes, n.Versions.Etcd)
	n.EtcdEvents.Dirs, n.EtcdEvents.LogDir, n.Args.EtcdEvents = etcdDirs(flags(own, nil))
}

// eventsOverride is the value of the API server's flag --etcd-servers-overrides, which separates
// servers by semicolons. It covers both API groups of events, which have the same objects.
func eventsOverride(e Etcd, n Node) string {
	var own LocalEtcd
	if n.EtcdEvents != nil {
		own = *n.EtcdEvents
	}
	return "/events#" + strings.Join(etcdServers(e, own), ";")
}

// ports lists the ports of a member of events; none when there are no such members.
func (s EventsSpec) ports() []port {
	if !s.Enabled {
		return nil
	}
	return memberPorts("etcd for events", "cluster.etcd.events", portEventsClient, portEventsPeer, s.MetricsURL)
}

// memberPorts lists the ports of a member of an etcd cluster with a name for people and the key of its
// settings.
func memberPorts(name, key string, client, peer int, metricsURL string) []port {
	out := []port{{name: name, number: client, needed: byCluster}, {name: "the peer port of " + name, number: peer, needed: byCluster}}
	if metrics, ok := urlPort(metricsURL); ok {
		out = append(out, port{key + ".metrics_url", "the metrics of " + name, metrics, byHost})
	}
	return out
}

// checkEvents checks the settings of the etcd cluster of events.
func (c *checker) checkEvents() {
	s := c.spec.Etcd.Events
	c.checkMembers("cluster.etcd.events", s.DataDir, s.MetricsURL, s.QuotaBackendBytes)
}

// checkMembers checks the settings of the members of an etcd cluster beside the cluster's own; key is that
// of its section, quota the size of its database in bytes.
func (c *checker) checkMembers(key, dir, metricsURL string, quota int64) {
	switch own := c.spec.Etcd.DataDir; {
	case !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/":
		c.add("bad-path", key+".data_dir", "%q is not the absolute path of a directory of its own", dir)
	case nested(dir, own):
		c.add("bad-path", key+".data_dir", "%s is not apart from the data of etcd in %s: choose another directory", dir, own)
	}
	if _, ok := urlPort(metricsURL); !ok {
		c.add("bad-url", key+".metrics_url", "%q is not an address such as http://127.0.0.1:2481", metricsURL)
	}
	if quota < 0 || quota > MaxEtcdQuota {
		c.add("bad-number", key+".quota_backend_bytes", "%d is not a number of bytes up to %d, which is 8 GiB and the most that etcd works with", quota, int64(MaxEtcdQuota))
	}
}
