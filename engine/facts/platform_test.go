package facts

import (
	"encoding/json"
	"testing"
	"time"
)

func TestPlatform(t *testing.T) {
	const vendor, product = "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"
	for name, tt := range map[string]struct {
		files                 map[string]string
		virt, packages, linux string
	}{
		"physical machine":              {map[string]string{vendor: "Dell Inc.\n", product: "PowerEdge\n"}, "", "", "disabled"},
		"kvm":                           {map[string]string{vendor: "QEMU\n", product: "Standard PC (Q35 + ICH9, 2009)\n", "/usr/bin/apt-get": ""}, "qemu", "apt", "disabled"},
		"amazon":                        {map[string]string{vendor: "Amazon EC2\n", product: "m5.large\n", "/usr/bin/dnf": "", "/sys/fs/selinux/enforce": "1"}, "amazon", "dnf", "enforcing"},
		"bare metal of Amazon":          {map[string]string{vendor: "Amazon EC2\n", product: "m5.metal\n", "/usr/bin/zypper": "", "/sys/fs/selinux/enforce": "0"}, "", "zypper", "permissive"},
		"Hyper-V":                       {map[string]string{vendor: "Microsoft Corporation\n", product: "Virtual Machine\n"}, "microsoft", "", "disabled"},
		"physical machine of Microsoft": {map[string]string{vendor: "Microsoft Corporation\n", product: "Surface\n"}, "", "", "disabled"},
		"systemd-nspawn":                {map[string]string{vendor: "QEMU\n", "/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn", "", "disabled"},
		"podman":                        {map[string]string{"/run/.containerenv": ""}, "podman", "", "disabled"},
		"docker":                        {map[string]string{"/.dockerenv": ""}, "docker", "", "disabled"},
		"old Xen":                       {map[string]string{"/sys/hypervisor/type": "xen\n"}, "xen", "", "disabled"},
		"KVM on ARM":                    {map[string]string{"/proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, "kvm", "", "disabled"},
		"Windows Subsystem for Linux":   {map[string]string{"/proc/version": "Linux version 5.15 microsoft-standard-WSL2\n"}, "wsl", "", "disabled"},
		"no information":                {nil, "", "", "disabled"},
	} {
		f := Read(tree(t, tt.files))
		if f.Virtualization != tt.virt || f.PackageManager != tt.packages || f.SELinux != tt.linux {
			t.Errorf("%s: %q, %q, %q", name, f.Virtualization, f.PackageManager, f.SELinux)
		}
	}
	if !Read(tree(t, map[string]string{"/run/reboot-required": "*** System restart required ***\n"})).RebootRequired {
		t.Error("nobody sees that a reboot is asked for")
	}
}

// TestTheGreetingIsSmallAndQuick: the facts of this machine, with which every
// connection begins, are few bytes and are read fast.
func TestTheGreetingIsSmallAndQuick(t *testing.T) {
	best := time.Hour
	for range 10 { // other tests run beside this one
		began := time.Now()
		f := Read("/")
		best = min(best, time.Since(began))
		data, err := json.Marshal(f)
		if err != nil || len(data) > 4<<10 {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
	}
	if best > 5*time.Millisecond {
		t.Errorf("reading the facts takes %s", best)
	}
}
