package plan

import "strings"

// Prefix starts the name of everything a lab makes on the machine.
const Prefix = "deployer-lab-"

// Label is the label on every container and volume; its value is the lab's name.
const Label = "deployer.lab"

// LabNamespace names the network namespace that holds the lab's bridge and in
// which the controller runs.
func LabNamespace(lab string) string { return Prefix + lab }

// HostResource names a host's network namespace and its container. A dot, which
// no lab name contains, keeps lab "a" apart from lab "a-b".
func HostResource(lab, host string) string { return Prefix + lab + "." + host }

// VolumeResource names a host's volume for one of VolumePaths.
func VolumeResource(lab, host, path string) string {
	return HostResource(lab, host) + "." + path[strings.LastIndex(path, "/")+1:]
}

// VolumePaths are the directories that must not lie on the container's overlay
// file system: containerd's snapshots are overlays themselves and the kernel
// refuses an overlay on an overlay; kubelet and etcd want a real file system.
func VolumePaths() []string {
	return []string{"/var/lib/containerd", "/var/lib/kubelet", "/var/lib/etcd"}
}

// LabOf says which lab a resource name belongs to.
func LabOf(resource string) (lab string, ok bool) {
	rest, ok := strings.CutPrefix(resource, Prefix)
	if !ok {
		return "", false
	}
	lab, _, _ = strings.Cut(rest, ".")
	return lab, CheckName(lab) == nil
}

// NameServer is the place of the lab's name server among the hosts' names.
const NameServer = "dns"

// Domain is the domain that the lab's name server answers for: m1.lab.test and
// so on. The top-level domain test is reserved by RFC 6761.
const Domain = "lab.test"

// Bridge is the bridge inside the lab's namespace. Ports carry their host's name.
const Bridge = "lab0"
