package facts

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"deployer/engine"
)

// Hardware describes the machine. Texts are empty when the firmware does not state them.
type Hardware struct {
	Vendor   string          `json:"vendor"`
	Product  string          `json:"product"`
	Serial   string          `json:"serial"`
	Firmware string          `json:"firmware"` // version of the BIOS
	CPUModel string          `json:"cpu_model"`
	Sockets  int             `json:"sockets"`
	Cores    int             `json:"cores"`   // of all sockets
	Threads  int             `json:"threads"` // of all cores
	Disks    map[string]Disk `json:"disks"`   // by name, as in sda
}

// Disk is a whole block device, not a partition.
type Disk struct {
	SizeBytes  int64  `json:"size_bytes"`
	Rotational bool   `json:"rotational"`
	Model      string `json:"model"`
}

func hardware(_ context.Context, sys engine.System) (any, error) {
	line := func(path string) string {
		data, _ := os.ReadFile(sys.Path(path)) // unreadable values stay empty
		first, _, _ := strings.Cut(string(data), "\n")
		return strings.TrimSpace(first)
	}
	const dmi = "/sys/class/dmi/id/"
	h := Hardware{Vendor: line(dmi + "sys_vendor"), Product: line(dmi + "product_name"), Serial: line(dmi + "product_serial"),
		Firmware: line(dmi + "bios_version"), Disks: map[string]Disk{}}
	if text, err := os.ReadFile(sys.Path("/proc/cpuinfo")); err == nil {
		h.processors(string(text))
	}
	devices, err := filepath.Glob(sys.Path("/sys/block/*/device"))
	if err != nil {
		return nil, err
	}
	for _, device := range devices {
		name := filepath.Base(filepath.Dir(device))
		path := "/sys/block/" + name
		sectors, _ := strconv.ParseInt(line(path+"/size"), 10, 64) // the kernel counts sectors of 512 bytes
		h.Disks[name] = Disk{SizeBytes: sectors * 512, Rotational: line(path+"/queue/rotational") == "1", Model: line(path + "/device/model")}
	}
	return h, nil
}

// processors parses proc_cpuinfo(5). A machine that does not number sockets and cores
// counts as one socket with a core for each thread.
func (h *Hardware) processors(text string) {
	sockets, cores := map[string]bool{}, map[string]bool{}
	socket := ""
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "processor":
			h.Threads++
		case "model name":
			h.CPUModel = value
		case "physical id":
			socket = value
			sockets[socket] = true
		case "core id":
			cores[socket+" "+value] = true
		}
	}
	h.Sockets, h.Cores = max(len(sockets), min(h.Threads, 1)), len(cores)
	if h.Cores == 0 {
		h.Cores = h.Threads
	}
}
