package plan

import "strings"

// Prefix is the prefix of the names of all resources of labs on the machine.
const Prefix = "deployer-lab-"

// Label is the label on every container and volume; its value is the lab's name.
const Label = "deployer.lab"

// LabNamespace returns the name of the network namespace with the lab's bridge, in which
// the controller runs.
func LabNamespace(lab string) string { return Prefix + lab }

// HostResource returns the name of a host's network namespace and container. Its dot,
// which no lab name contains, distinguishes lab "a" from lab "a-b".
func HostResource(lab, host string) string { return Prefix + lab + "." + host }

// VolumeResource returns the name of a host's volume for one of VolumePaths.
func VolumeResource(lab, host, path string) string {
	return HostResource(lab, host) + "." + path[strings.LastIndex(path, "/")+1:]
}

// VolumePaths are the directories that must not be on the container's overlay file
// system: containerd's snapshots are overlays themselves, and the kernel rejects an
// overlay on an overlay; kubelet and etcd require a real file system.
func VolumePaths() []string {
	return []string{"/var/lib/containerd", "/var/lib/kubelet", "/var/lib/etcd"}
}

// LabOf returns the lab of a resource name; false when the name is not that of a lab.
func LabOf(resource string) (lab string, ok bool) {
	rest, ok := strings.CutPrefix(resource, Prefix)
	if !ok {
		return "", false
	}
	lab, _, _ = strings.Cut(rest, ".")
	return lab, CheckName(lab) == nil
}

// NameServer is the name of the lab's name server, in the place of a host's name.
const NameServer = "dns"

// Domain is the domain that the lab's name server answers for: m1.lab.test and
// so on. The top-level domain test is reserved by RFC 6761.
const Domain = "lab.test"

// Bridge is the bridge inside the lab's namespace. Its ports have the names of the hosts.
const Bridge = "lab0"
