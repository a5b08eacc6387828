package inventory

import (
	"cmp"

	"deployer/strictyaml"
)

// Distribution holds the settings for large blobs, such as binaries and images, which hosts of a run
// send each other.
type Distribution struct {
	Peers          string `yaml:"peers" doc:"Whether hosts send large blobs to each other, so that the controller sends a few copies of each: auto does so in runs with at least min_hosts hosts; off has the controller send all." enum:"auto,on,off" default:"auto"`
	MinHosts       int    `yaml:"min_hosts" doc:"Number of hosts of a run from which on auto is on." default:"30"`
	Port           int    `yaml:"port" doc:"TCP port on the node address of hosts at which they serve blobs to other hosts of the run, while it lasts." default:"7475"`
	BytesPerSecond int64  `yaml:"bytes_per_second" doc:"Maximum number of bytes per second that one host sends to other hosts." default:"104857600"`
}

// withDefaults returns the settings with all defaults.
func (d Distribution) withDefaults() Distribution {
	d.Peers = cmp.Or(d.Peers, "auto")
	d.MinHosts = cmp.Or(d.MinHosts, 30)
	d.Port = cmp.Or(d.Port, 7475)
	d.BytesPerSecond = cmp.Or(d.BytesPerSecond, 100<<20)
	return d
}

// Enabled reports whether the hosts of a run with a number of hosts share blobs.
func (d Distribution) Enabled(hosts int) bool {
	return d.Peers == "on" && hosts > 1 || d.Peers == "auto" && hosts >= d.MinHosts
}

// minBytesPerSecond is the lowest bytes_per_second: a chunk of 4 MiB has to arrive in seconds.
const minBytesPerSecond = 1 << 20

// addDistribution checks the section `distribution:`.
func (b *builder) addDistribution() {
	d := b.file.Distribution.Value.withDefaults()
	at := func(key string) strictyaml.Pos {
		return strictyaml.At(b.inv.File, strictyaml.ValueOf(b.file.Distribution.Node, key))
	}
	if d.Port < 1024 || d.Port > 65535 {
		b.errorf(at("port"), "distribution.port is %d, want a port from 1024 to 65535", d.Port)
	}
	if d.MinHosts < 2 {
		b.errorf(at("min_hosts"), "distribution.min_hosts is %d, want at least 2", d.MinHosts)
	}
	if d.BytesPerSecond < minBytesPerSecond {
		b.errorf(at("bytes_per_second"), "distribution.bytes_per_second is %d, want at least %d", d.BytesPerSecond, minBytesPerSecond)
	}
	b.inv.Distribution = d
}
