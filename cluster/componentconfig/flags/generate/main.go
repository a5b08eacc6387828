// Command generate writes the table of the flags of one component: what
// `COMPONENT --help` lists, one flag a line, "deprecated" behind those that the
// help calls so.
//
//	go run ./cluster/componentconfig/flags/generate PROGRAM > cluster/componentconfig/flags/kubelet-v1.36.txt
package main

import (
	"bufio"
	"bytes"
	"log"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("name one program, such as kubelet")
	}
	help, err := exec.Command(os.Args[1], "--help").CombinedOutput()
	if err != nil && len(help) == 0 {
		log.Fatalf("running %s --help: %v", os.Args[1], err)
	}
	if _, err := os.Stdout.WriteString(strings.Join(flags(help), "\n") + "\n"); err != nil {
		log.Fatal(err)
	}
}

var flag = regexp.MustCompile(`^\s*(?:-\w, )?--([a-zA-Z0-9][-.\w]*)`)

// deprecated is how the programs say it of a flag, and not of one of its values.
var deprecated = regexp.MustCompile(`DEPRECATED|Deprecated[ .:]|[Dd]eprecated (in|and)`)

// flags lists what a help text names at the beginning of a line. The text of a flag
// may go on below it.
func flags(help []byte) []string {
	found := map[string]string{}
	last := ""
	for lines := bufio.NewScanner(bytes.NewReader(help)); lines.Scan(); {
		if m := flag.FindStringSubmatch(lines.Text()); m != nil {
			last = m[1]
			found[last] = last
		}
		if last != "" && deprecated.MatchString(lines.Text()) {
			found[last] = last + " deprecated"
		}
	}
	var out []string
	for _, line := range found {
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}
