package remote

import (
	"bufio"
	"errors"
	"strings"
)

// probeAnswers are the answers of a host to the probe.
type probeAnswers struct {
	begun   bool   // after the first marker: the probe runs as the login user
	inside  bool   // after the second marker: it runs with the agent's privileges
	uid     string // uid of the login user
	user    string // uid of the agent
	system  string // uname -sm
	dir     string // directory for the agent
	gzip    bool
	present bool // the agent is there, or the program of StartAsRoot is about to start
	missing bool
	tried   []string
	digest  string // digest of the received agent, if it was wrong
	problem string // value of error=
}

// arch returns the architecture in Go's names.
func (p *probeAnswers) arch() string {
	_, machine, _ := strings.Cut(p.system, " ")
	switch machine {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}

// maxNoise is the maximum output of a host before the marker, in bytes.
const maxNoise = 1 << 20

var errNoise = errors.New("the host printed more than 1 MiB before the probe's answers: check the start-up files of the user's shell")

// maxLine is the maximum length of an answer in bytes; a longer line is noise and is
// cut.
const maxLine = 4 << 10

// readLine reads one line, cut to maxLine bytes, without its line end.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := maxLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(string(line), "\r\n"), err
	}
}

// set stores one answer.
func (p *probeAnswers) set(key, value string) {
	switch key {
	case "uid":
		p.uid = value
	case "user":
		p.user = value
	case "system":
		p.system = value
	case "dir":
		p.dir = value
	case "gzip":
		p.gzip = true
	case "agent":
		p.present, p.missing = value == "present", value == "missing"
	case "ready": // of StartAsRoot
		p.present = true
	case "digest":
		p.digest = value
	case "tried":
		p.tried = append(p.tried, value)
	case "error":
		p.problem = value
	}
}
