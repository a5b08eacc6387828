package main

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretsByFile are secrets by their source. Each contains a character that has
// another form in JSON and in a shell.
var secretsByFile = map[string]string{
	"inventory":    `planted-in-the-"inventory"`,
	"group_vars":   `planted-in-'group_vars'`,
	"host_vars":    `planted-in-<host_vars>`,
	"vars_files":   `planted-in-&vars_files`,
	"environment":  `planted-in-$environment`,
	"command line": `planted-on-the-command\line`,
	"in a loop":    `planted-in-a-loop-item`,
	"on the host":  `planted-on-the-host`,
	"a password":   `planted-as-ssh-password`,
}

// TestSecretsInFilesAreRedacted checks that no secret of any source is in the output of
// a run, plan or revert, or in files of controller and hosts.
func TestSecretsInFilesAreRedacted(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": `
- hosts: all
  vars_files: [vars.yaml, more.yaml.age]
  tasks:
    - name: "a file for {{ from_inventory }}"
      file: {path: /all, content: "{{ from_inventory }} {{ from_group }} {{ from_host }} {{ from_file }} {{ from_env }} {{ db_password }} {{ generation }}\n"}
      notify: tell
    - template: {src: conf.tmpl, dest: /conf}
    - name: "item {{ item.name }}"
      file: {path: "/{{ item.name }}", content: "{{ item.token }} {{ generation }}\n"}
      loop: tokens
      loop_control: {label: "{{ item.token }}"}
    - command: {argv: [cat, "SOURCE"]}
      secret: true
      changed_when: true
      register: found
    - copy: {content: "{{ found.stdout }} {{ generation }}", dest: /found, secret: true}
    - debug: {msg: "{{ from_group }} {{ from_file }} {{ db_password | b64enc }}", value: {deep: ["{{ from_host }}"]}}
    - command: {argv: [sh, -c, "echo {{ from_file | squote }} >&2; false"]}
      environment: {TOKEN: "{{ from_env }}"}
      ignore_errors: true
      register: bad
    - fail: {msg: "{{ bad.stderr }} {{ from_inventory }}", detail: "{{ from_env }}"}
      when: host.name == "n002"
  handlers:
    - {name: tell, command: {argv: [echo, "{{ from_inventory }}"]}}
`, "templates/conf.tmpl": "token = {{ from_group }}\nother = {{ from_host }}\ngeneration = {{ generation }}\n"})
	source := filepath.Join(t.TempDir(), "source")
	s.write(source, secretsByFile["on the host"]+"\n")
	site, err := os.ReadFile("site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.write("site.yaml", strings.ReplaceAll(string(site), "SOURCE", source))
	t.Setenv("PLANTED_VARIABLE", secretsByFile["environment"])
	t.Setenv("PLANTED_PASSWORD", secretsByFile["a password"])
	quoted := func(name string) string {
		text, err := json.Marshal(secretsByFile[name])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	opened := map[string]string{"group_vars/all.yaml.age": "from_group: " + quoted("group_vars"), "more.yaml.age": "from_file: " + quoted("vars_files") +
		"\ntokens: [{name: one, token: " + quoted("in a loop") + "}]"}
	s.write("group_vars/all.yaml.age", encrypt(t, opened["group_vars/all.yaml.age"]))
	s.write("more.yaml.age", encryptForKey(t, opened["more.yaml.age"]))
	s.write("host_vars/n001.yaml", "from_host: !secret "+quoted("host_vars")+"\n")
	s.write("host_vars/n002.yaml", "from_host: !secret "+quoted("host_vars")+"\n")
	s.write("vars.yaml", "from_env: !env PLANTED_VARIABLE\n")
	plain, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.write("inventory.yaml", strings.Replace(string(plain), "ssh:\n", "ssh:\n    password_env: PLANTED_PASSWORD\n", 1)+
		"vars:\n  from_inventory: !secret "+quoted("inventory")+"\n")
	output := map[string]string{}
	note := func(code int, args ...string) {
		out, complaints := s.deployer(code, args...)
		output[strings.Join(append([]string{args[0]}, args[len(args)-1]), " ")+args[1]] = out + complaints
	}
	given := func(generation string, args ...string) []string {
		return append(args, "-e", "db_password="+secretsByFile["command line"], "-e", "generation="+generation)
	}
	note(exitOK, given("1", "plan", "run", "site.yaml", "-v", "-o", "plan.json")...)
	output["plan.json"] = filesBelow(t, ".")["plan.json"]
	note(exitPartial, given("1", "run", "site.yaml", "-vv", "--diff")...)
	note(exitPartial, given("2", "run", "site.yaml", "-o", "json")...)
	note(exitOK, given("3", "run", "site.yaml", "-vv", "--diff", "--check")...)
	note(exitOK, "runs", "show", "-v")
	note(exitOK, "runs", "list", "-o", "json")
	note(exitOK, "inventory", "show", "n001")
	note(exitOK, "inventory", "list", "-o", "json")
	note(exitOK, "revert", s.runs()[0].Header.Run, "--diff", "--check", "-e", "db_password="+secretsByFile["command line"])
	note(exitOK, "revert", s.runs()[0].Header.Run, "--yes", "-v", "--diff", "-e", "db_password="+secretsByFile["command line"])
	for _, dir := range []string{"state", "cache"} {
		for name, text := range filesBelow(t, dir) {
			output[name] = text
		}
	}
	journals := 0
	for _, h := range s.fleet.Hosts {
		for name, text := range filesBelow(t, filepath.Join(h.Root, "var/lib/deployer")) {
			if strings.HasSuffix(name, ".jsonl") {
				output[name] = text
				journals++
			}
		}
	}
	if journals < 4 || !strings.Contains(s.hostFile(0, "all"), secretsByFile["command line"]) || !strings.Contains(s.hostFile(0, "found"), secretsByFile["on the host"]) {
		t.Errorf("%d journals of hosts; /all is %q", journals, s.hostFile(0, "all"))
	}
	for where, text := range output {
		for from, secret := range secretsByFile {
			for _, form := range formsOf(t, secret) {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s tells the secret of %s: ...%s", where, from, text[max(0, i-160):min(len(text), i+60)])
				}
			}
		}
	}
}

// formsOf returns the encodings of a secret.
func formsOf(t *testing.T, secret string) []string {
	t.Helper()
	inJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	return []string{secret, string(inJSON[1 : len(inJSON)-1]), string(twice[3 : len(twice)-3]), url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret))}
}
