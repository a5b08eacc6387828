package scrub

import "regexp"

// urlRules remove the secrets of addresses. Their matches include the begin of a digest behind
// @, by which lineRule.apply recognizes an image.
var urlRules = []lineRule{
	// https://USER:PASSWORD@HOST; the password may hold a slash.
	{[]string{"://"}, regexp.MustCompile(`(://[^/\s:@"']*:)[^\s"'@]+(?:@[^\s"'@]+)*@(sha\d+:)?`), "${1}" + Mark + "@${2}"},
	// https://TOKEN@HOST; names of users such as git are shorter.
	{[]string{"://"}, regexp.MustCompile(`(://)[A-Za-z0-9_.-]{20,}@`), "${1}" + Mark + "@"},
	// USER:PASSWORD@tcp(HOST:PORT)/DATABASE, USER:PASSWORD@HOST
	{[]string{"@"}, regexp.MustCompile(`((?:^|[\s"'=(,])[\w.+-]+:)[^\s@/:"']+(@(?:tcp|udp|unix)\(|@sha\d+:|@[A-Za-z0-9\[])`), "${1}" + Mark + "${2}"},
	{[]string{"@tcp(", "@unix("}, regexp.MustCompile(`((?:^|[\s"'=(,])[\w.+-]+:)[^\s"']+(@(?:tcp|unix)\()`), "${1}" + Mark + "${2}"},
	// Signed links of object stores and one-time codes: ?sig=TEXT&X-Amz-Signature=TEXT
	{[]string{"="}, regexp.MustCompile(`(?i)([?&;](?:sig|signature|key|code|auth|jwt|x-amz-\w[\w-]*|x-goog-\w[\w-]*|awsaccesskeyid)=)[^&\s"'#]+`), "${1}" + Mark},
}
