package scrub

import (
	"regexp"
	"strings"
)

// secretNames are parts of the names of options and keys with secret values.
var secretNames = []string{"password", "passwd", "passphrase", "pass-phrase", "secret", "token", "api-key", "api_key", "apikey", "access-key", "access_key",
	"accesskey", "account-key", "account_key", "accountkey", "private-key", "private_key", "privatekey", "preshared-key", "preshared_key", "presharedkey",
	"certificate-key", "certificate_key", "certificatekey", "encryption-key", "encryption_key", "encryptionkey", "signing-key", "signing_key", "signingkey",
	"key-data", "certificate-data", "credential", "cookie", "snmp-community", "snmp_community"}

// shortNames are names that are secret only as whole words of a name: PWD in MYSQL_PWD.
var shortNames = []string{"pwd", "pass", "psk", "pw"}

// spokenNames are names in sentences: the word itself, a space, the secret.
var spokenNames = []string{"password", "passphrase"}

// nameRules remove the values of names that say that they are secret.
var nameRules = []lineRule{
	// --token=TEXT, "password": "TEXT", client-key-data: TEXT, access_key=TEXT
	{secretNames, regexp.MustCompile(`(?i)([\w.-]*(?:` + strings.Join(secretNames, "|") + `)[\w.-]*\\*["']?\s*[:=]\s*)` + value), "${1}" + Mark},
	{secretNames, regexp.MustCompile(`(?i)(--?[\w-]*(?:` + strings.Join(secretNames, "|") + `)[\w-]*\s+)` + value), "${1}" + Mark},
	{shortNames, regexp.MustCompile(`(?i)(\b(?:[\w.-]*[_.-])?(?:` + strings.Join(shortNames, "|") + `)\\*["']?\s*[:=]\s*)` + value), "${1}" + Mark},
	{shortNames, regexp.MustCompile(`(?i)(--(?:[\w-]*-)?(?:` + strings.Join(shortNames, "|") + `)\s+)` + value), "${1}" + Mark},
	{spokenNames, regexp.MustCompile(`(?i)\b(password|passphrase)(\s+(?:is\s+)?)(\\*"[^"]*"?|'[^']*'?)`), "${1}${2}" + Mark},
	// machine HOST login USER password TEXT, as in .netrc
	{spokenNames, regexp.MustCompile(`(?i)\b(login\s+\S+\s+password\s+)` + value), "${1}" + Mark},
	{[]string{"identified"}, regexp.MustCompile(`(?i)\b(identified\s+(?:with\s+\S+\s+)?(?:by|as)\s+)` + value), "${1}" + Mark},
	// A key in hexadecimal digits, from 16 bytes on; a digest has another name before it.
	{[]string{"key", "seed", "psk"}, regexp.MustCompile(`(?i)(\b(?:[\w-]*[_-]?key|seed|psk)\\*["']?[\s:=]+\\*["']?)[0-9a-f]{32,}\b`), "${1}" + Mark},
}
