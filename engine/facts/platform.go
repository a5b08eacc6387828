package facts

import "strings"

// packageManager names the program that installs packages.
func (h host) packageManager() string {
	for _, m := range []struct{ program, name string }{{"/usr/bin/apt-get", "apt"}, {"/usr/bin/dnf", "dnf"}, {"/usr/bin/zypper", "zypper"}} {
		if h.exists(m.program) {
			return m.name
		}
	}
	return ""
}

// selinux returns the mode in which the kernel enforces the policy; empty without SELinux.
func (h host) selinux() string {
	switch h.line("/sys/fs/selinux/enforce") {
	case "1":
		return "enforcing"
	case "0":
		return "permissive"
	}
	return "disabled"
}

// makers are the names of maker or product that virtual machines report, in the order in
// which they are searched: many are based on KVM, whose name comes last.
var makers = []struct{ sign, name string }{
	{"Amazon EC2", "amazon"}, {"Google Compute Engine", "google"}, {"VMware", "vmware"}, {"innotek GmbH", "oracle"}, {"VirtualBox", "oracle"},
	{"Microsoft Corporation Virtual Machine", "microsoft"}, {"Parallels", "parallels"}, {"Apple Virtualization", "apple"},
	{"Xen", "xen"}, {"KVM", "kvm"}, {"OpenStack", "kvm"}, {"DigitalOcean", "kvm"}, {"Hetzner vServer", "kvm"}, {"QEMU", "qemu"}, {"Bochs", "bochs"},
}

// virtualization returns Facts.Virtualization. Containers are checked first, because
// they also see the machine below them.
func (h host) virtualization() string {
	if name := h.line("/run/systemd/container"); name != "" {
		return name
	}
	if h.exists("/run/.containerenv") {
		return "podman"
	}
	if h.exists("/.dockerenv") {
		return "docker"
	}
	if strings.Contains(h.read("/proc/version"), "Microsoft") || strings.Contains(h.read("/proc/version"), "microsoft-standard-WSL") {
		return "wsl"
	}
	maker := h.line("/sys/class/dmi/id/sys_vendor") + " " + h.line("/sys/class/dmi/id/product_name")
	for _, m := range makers {
		if strings.Contains(maker, m.sign) && !(m.name == "amazon" && strings.HasSuffix(maker, ".metal")) {
			return m.name
		}
	}
	switch {
	case h.line("/sys/hypervisor/type") == "xen":
		return "xen"
	case strings.HasPrefix(h.read("/proc/device-tree/hypervisor/compatible"), "linux,kvm"):
		return "kvm"
	}
	return ""
}
