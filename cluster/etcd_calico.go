package cluster

import "cmp"

// Values of cluster.network.calico.datastore.
const (
	DatastoreKubernetes = "kubernetes"
	DatastoreEtcd       = "etcd"
)

// CalicoEtcdSpec is the `cluster.network.calico.etcd:` section.
type CalicoEtcdSpec struct {
	DataDir           string `yaml:"data_dir" default:"/var/lib/etcd-calico" doc:"Directory of the data on each member, best on another disk than that of etcd."`
	QuotaBackendBytes int64  `yaml:"quota_backend_bytes" default:"2147483648" doc:"Size of the database in bytes at which etcd refuses to write further objects."`
	MetricsURL        string `yaml:"metrics_url" default:"http://127.0.0.1:2581" doc:"URL on which the members serve metrics and health without a client certificate."`
}

// withDefaults: 2 GiB is etcd's own default. An object of Calico has one or two KiB, and each pod two
// of them, so that the 110000 pods of 1000 nodes need less than 500 MiB.
func (s CalicoEtcdSpec) withDefaults() CalicoEtcdSpec {
	s.DataDir = cmp.Or(s.DataDir, "/var/lib/etcd-calico")
	s.QuotaBackendBytes = cmp.Or(s.QuotaBackendBytes, 2*gib)
	s.MetricsURL = cmp.Or(s.MetricsURL, "http://127.0.0.1:2581")
	return s
}

// usesEtcd reports whether Calico has its objects in an etcd cluster of its own.
func (s NetworkSpec) usesEtcd() bool {
	return s.Plugin == PluginCalico && s.Calico.Datastore == DatastoreEtcd
}

// etcdCalico returns the etcd cluster of Calico; nil without one.
func (r *resolver) etcdCalico() *Etcd {
	if !r.spec.Network.usesEtcd() {
		return nil
	}
	s := r.spec.Network.Calico.Etcd
	e := r.etcdMembers(portCalicoClient, portCalicoPeer)
	e.DataDir, e.Token, e.MetricsURL = s.DataDir, r.spec.Name+"-calico", s.MetricsURL
	e.Authority, e.User = AuthorityEtcdCalico, EtcdRoot
	e.CA, e.ClientCert, e.ClientKey = CAPath(AuthorityEtcdCalico), pki(certificateEtcdRoot+".crt"), pki(certificateEtcdRoot+".key")
	e.Backup, e.BackupURL = r.spec.Etcd.Backup, r.spec.Etcd.Backup.url()
	e.Backup.Recipients = []string{} // the keys are saved with the cluster's own etcd
	return &e
}

// calicoMember returns the member of Calico's etcd cluster of a host of role etcd; nil without one.
func (r *resolver) calicoMember(n Node) *LocalEtcd {
	if !r.spec.Network.usesEtcd() {
		return nil
	}
	return memberOn(n, portCalicoClient, portCalicoPeer)
}

// addCalicoEtcd adds the flags and directories of the host's member of Calico's etcd cluster.
func (r *resolver) addCalicoEtcd(n *Node) {
	if n.EtcdCalico == nil {
		return
	}
	own := r.memberFlags(*r.out.EtcdCalico, *n.EtcdCalico, dirEtcdCalicoPKI, portCalicoClient, r.spec.Network.Calico.Etcd.QuotaBackendBytes, n.Versions.Etcd)
	n.EtcdCalico.Dirs, n.EtcdCalico.LogDir, n.Args.EtcdCalico = etcdDirs(flags(own, nil))
}

// calicoEtcdPorts lists the ports of a member of Calico's etcd cluster; none when there are no such
// members.
func (s NetworkSpec) calicoEtcdPorts() []port {
	if !s.usesEtcd() {
		return nil
	}
	return memberPorts("etcd for Calico", "cluster.network.calico.etcd", portCalicoClient, portCalicoPeer, s.Calico.Etcd.MetricsURL)
}

// checkCalicoDatastore checks the datastore of Calico, and refuses the setting that does not work with etcd.
func (c *checker) checkCalicoDatastore() {
	const key = "cluster.network.calico"
	n := c.spec.Network
	c.oneOf("unknown-datastore", key+".datastore", n.Calico.Datastore, DatastoreKubernetes, DatastoreEtcd)
	if n.Calico.Datastore != DatastoreEtcd {
		if c.calicoEtcd {
			c.add("unused-etcd", key+".etcd", "network.calico.datastore is %s, which has no etcd: remove the settings, or set datastore: %s", n.Calico.Datastore, DatastoreEtcd)
		}
		return
	}
	c.checkMembers(key+".etcd", n.Calico.Etcd.DataDir, n.Calico.Etcd.MetricsURL, n.Calico.Etcd.QuotaBackendBytes)
	if events := c.spec.Etcd.Events; events.Enabled && nested(n.Calico.Etcd.DataDir, events.DataDir) {
		c.add("bad-path", key+".etcd.data_dir", "%s is not apart from the data of etcd for events in %s: choose another directory", n.Calico.Etcd.DataDir, events.DataDir)
	}
	if n.Calico.Typha == TyphaAlways {
		c.add("unused-with-etcd", key+".typha", "it does not work with network.calico.datastore: %s: nodes watch etcd themselves; set it to auto or never", DatastoreEtcd)
	}
}
