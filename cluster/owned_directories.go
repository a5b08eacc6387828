package cluster

import (
	"path/filepath"
	"slices"
)

// Owned is a directory of a host in which roles write files. A file that deployer has
// written there and Keep does not list belonged to an object that the inventory no
// longer has: a registry's mirror, a static pod, the other API proxy.
type Owned struct {
	Path  string   `json:"path"`  // path of the directory
	Files string   `json:"files"` // pattern of the files that roles write there
	Keep  []string `json:"keep"`  // files that the host must keep, relative to the directory
	Units bool     `json:"units"` // true when the files are systemd units
	// Secret is true when some of the files have credentials, such as passwords of registries.
	Secret bool `json:"secret"`
}

const (
	dirDeployer  = "/etc/deployer"
	dirManifests = dirKubernetes + "/manifests"
	dirProxy     = dirKubernetes + "/proxy"
	dirCerts     = "/etc/containerd/certs.d"
	dirUnits     = "/etc/systemd/system"
	dirKubelet   = "/var/lib/kubelet"
)

// manifestsOf lists the manifests of the static pods of a host.
func manifestsOf(n Node) []string {
	out := []string{}
	if n.RunsAPIServer {
		out = append(out, "kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml")
	}
	if n.RunsProxyPod {
		out = append(out, "api-proxy.yaml")
	}
	if n.RunsKubeProxy {
		out = append(out, "kube-proxy.yaml")
	}
	if n.RunsCalico {
		out = append(out, "calico-node.yaml")
	}
	if n.RunsTypha {
		out = append(out, "calico-typha.yaml")
	}
	if n.RunsNodeDNS {
		out = append(out, manifestNodeDNS)
	}
	return out
}

// OwnedDirs lists the directories that deployer writes to on a host. The units exclude
// etcd's, because a member must leave its cluster before its host does, which no
// inventory shows, and the kubelet's and containerd's, without which pods would keep
// running.
func OwnedDirs(c *Cluster, n Node) []Owned {
	manifests, proxy, certs, authorities := manifestsOf(n), []string{}, []string{}, []string{}
	deployer, units, timers, kubelet := []string{}, []string{}, []string{}, []string{}
	conf := c.Proxy.Kind + ".conf"
	if n.RunsProxyPod {
		proxy = append(proxy, conf)
		if n.ProxyTLS.Used() {
			proxy = append(proxy, proxyCertificate)
		}
	}
	if n.RunsExternalProxy {
		deployer = append(deployer, conf)
		if n.ProxyTLS.Used() && !n.RunsProxyPod {
			deployer = append(deployer, proxyCertificate)
		}
	}
	if n.RunsProxyUnit {
		units = append(units, "deployer-proxy.service")
	}
	if n.RunsFirewall {
		deployer, units = append(deployer, "firewall.nft"), append(units, "deployer-firewall.service")
	}
	if n.RunsWitness {
		deployer, units = append(deployer, "virtual-ip.conf"), append(units, unitWitness)
	}
	if n.RunsKeepalived {
		deployer, units = append(deployer, "keepalived.conf", "keepalived-check.sh"), append(units, unitKeepalived)
	}
	nodeDNS := []string{}
	if n.RunsNodeDNS {
		units, nodeDNS = append(units, unitNodeDNS), append(nodeDNS, "Corefile")
	}
	if n.RunsAPIServer && c.Keeper.Enabled {
		deployer, units = append(deployer, fileKeeper), append(units, unitKeeper)
		if c.Keeper.Profiles != "" {
			deployer = append(deployer, fileProfiles)
		}
		if c.Keeper.Replacement != "" {
			deployer = append(deployer, fileReplacement)
		}
	}
	if n.IsNode && c.Keeper.Reboots.Enabled {
		deployer, units = append(deployer, fileReboot), append(units, unitReboot)
	}
	if n.RenewsCertificates {
		deployer, units, timers = append(deployer, fileCertificates), append(units, unitCertificates+".service"), append(timers, unitCertificates+".timer")
	}
	if n.IsNode {
		if c.Network.Plugin == PluginBGP {
			deployer = append(deployer, "bgp-password.conf", "bird.conf", "pods.nft")
			if slices.ContainsFunc(n.BGP.Routers, func(r Router) bool { return r.HasPassword }) {
				deployer = append(deployer, "bgp-router-passwords.conf")
			}
			units = append(units, "deployer-bird.service", "deployer-pods.service")
		}
		for _, r := range c.Containerd.Registries {
			certs = append(certs, r.Name+"/hosts.toml")
		}
		for _, a := range c.Containerd.Authorities {
			authorities = append(authorities, filepath.Base(a.Path))
		}
		if c.Containerd.Proxy.Used() {
			deployer = append(deployer, containerdEnv)
		}
		if len(c.Containerd.Credentials) > 0 {
			kubelet = append(kubelet, "config.json")
		}
	}
	if n.IsEtcd {
		deployer = append(deployer, "etcd-initial.env", "etcd-member")
		if n.EtcdEvents != nil {
			deployer = append(deployer, EtcdEvents+"-initial.env", EtcdEvents+"-member")
		}
		if n.EtcdCalico != nil {
			deployer = append(deployer, EtcdCalico+"-initial.env", EtcdCalico+"-member")
		}
		if c.Etcd.Backup.Scheduled() {
			deployer = append(deployer, "etcd-backup.sh", "etcd-backup-hmac.sh", "etcd-backup-mac.key")
			units, timers = append(units, "deployer-etcd-backup.service"), append(timers, "deployer-etcd-backup.timer")
			if c.Etcd.BackupURL != "" {
				deployer = append(deployer, "etcd-backup-copy.sh", "etcd-backup-s3.conf")
				if c.Etcd.Backup.S3.CA != "" {
					deployer = append(deployer, "etcd-backup-s3.crt")
				}
			}
			if len(c.Etcd.Backup.Recipients) > 0 {
				deployer = append(deployer, "etcd-backup-keys.age")
			}
			if n.EtcdCalico != nil {
				deployer = append(deployer, "etcd-calico-backup.sh")
				units, timers = append(units, "deployer-etcd-calico-backup.service"), append(timers, "deployer-etcd-calico-backup.timer")
				if c.Etcd.BackupURL != "" {
					deployer = append(deployer, "etcd-calico-backup-copy.sh")
				}
			}
		}
	}
	return []Owned{
		{Path: dirUnits, Files: "deployer-*.timer", Keep: timers, Units: true},
		{Path: dirUnits, Files: "deployer-*.service", Keep: units, Units: true},
		{Path: dirManifests, Files: "*.yaml", Keep: manifests},
		{Path: dirProxy, Files: "*", Keep: proxy, Secret: true},
		{Path: dirNodeDNS, Files: "*", Keep: nodeDNS},
		{Path: dirDeployer, Files: "*", Keep: deployer, Secret: true},
		{Path: dirCerts, Files: "*/hosts.toml", Keep: certs, Secret: true},
		{Path: dirRegistryCA, Files: "*.crt", Keep: authorities},
		{Path: dirKubelet, Files: "config.json", Keep: kubelet, Secret: true},
	}
}
