package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// checkCalico checks the settings of Calico.
func (c *checker) checkCalico() {
	const key = "cluster.network.calico"
	s := c.spec.Network.Calico
	if c.spec.Network.Plugin != PluginCalico {
		if c.calico {
			c.add("unused-calico", key, "network.plugin is %s, which has no such settings: remove them, or set network.plugin: calico", c.spec.Network.Plugin)
		}
		return
	}
	c.checkEncapsulation(s)
	c.oneOf("unknown-typha", key+".typha", s.Typha, TyphaAuto, TyphaAlways, TyphaNever)
	if c.spec.Network.CNI != "bridge" {
		c.add("unused-cni", "cluster.network.cni", "with network.plugin: calico pods are connected by Calico: remove the setting")
	}
	if backend(s.Encapsulation) == backendVXLAN && len(c.spec.Network.Reflectors) > 0 {
		c.add("unused-reflectors", "cluster.network.reflectors", "with network.calico.encapsulation: %s there is no BGP: remove them", s.Encapsulation)
	}
	owned := ownedFelix(c.spec, c.place)
	for _, name := range slices.Sorted(maps.Keys(s.Felix)) {
		if _, ok := owned[name]; ok {
			c.add("owned-setting", key+".felix."+name, "deployer makes this setting of FelixConfiguration: remove it")
		}
	}
	c.checkCalicoDatastore()
	c.checkPools(s)
	c.checkCalicoVersion()
}

// The minor versions of Calico 3 for which deployer has objects. Older ones have other kinds and rights, and
// v3.32 has two flavours of kinds, which must not be mixed.
const oldestCalico, newestCalico = 28, 31

// checkCalicoVersion refuses versions of Calico for which deployer has no objects.
func (c *checker) checkCalicoVersion() {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(c.spec.Versions.Calico, "v"))
	if err != nil || c.spec.AllowUntested { // checkVersions reports the first
		return
	}
	if v.Major() != 3 || v.Minor() < oldestCalico || v.Minor() > newestCalico {
		c.add(codeUnknownVersion, "cluster.versions.calico", "%s is not among the supported versions: v3.%d to v3.%d", c.spec.Versions.Calico, oldestCalico, newestCalico)
	}
}
