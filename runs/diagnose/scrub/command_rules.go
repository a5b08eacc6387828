package scrub

import "regexp"

// option returns a rule for an option with a secret in the commands of some programs. The
// programs are a pattern, and each hint is a part of such a command in lower case.
func option(programs, flag string, hints ...string) lineRule {
	return lineRule{hints, regexp.MustCompile(`(\b(?:` + programs + `)\b.*?\s` + flag + `)` + value), "${1}" + Mark}
}

// commandRules remove secrets from commands, as ps, sudo and the audit log print them, where
// the option alone says nothing: -p is a port for one program and a password for another.
var commandRules = []lineRule{
	option(`mysql\w*|mariadb[\w-]*|mysqldump|xtrabackup|mongo\w*|sshpass`, `-p ?`, "mysql", "mariadb", "xtrabackup", "mongo", "sshpass"),
	option(`login`, `-p[ =]?`, "login"), // docker, podman, nerdctl, helm registry, oras, skopeo, az
	option(`ipmitool|ipmi-\w+`, `-P ?`, "ipmi"),
	option(`ldap\w+|svn`, `-w ?`, "ldap"),
	option(`redis-cli|valkey-cli`, `-a ?`, "redis-cli", "valkey-cli"),
	option(`snmp\w+`, `-[AXc] ?`, "snmp"),
	// AUTH PASSWORD and AUTH USER PASSWORD of Redis
	{[]string{"auth "}, regexp.MustCompile(`\b(AUTH\s+)\S+(?:[ \t]+[^\s"']+)?`), "${1}" + Mark},
	// curl -u USER:PASSWORD, smbclient -U USER%PASSWORD: the user stays.
	{[]string{"-u", "--user", "--proxy-user"}, regexp.MustCompile(`((?:^|\s)(?:-u|-U|--user|--proxy-user)[ =]?["']?[^\s:%"']+[:%])[^\s"']+`), "${1}" + Mark},
	// echo USER:PASSWORD | chpasswd; htpasswd -b FILE USER PASSWORD
	{[]string{"chpasswd"}, regexp.MustCompile(`(\becho\s+["']?[^\s:"']+:)[^\s|"']+`), "${1}" + Mark},
	{[]string{"htpasswd"}, regexp.MustCompile(`(\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+)` + value), "${1}" + Mark},
}
