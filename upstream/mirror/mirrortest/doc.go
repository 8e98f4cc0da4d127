// Package mirrortest is the exam that every provider of a mirror passes: what
// upstream/mirror relies on, asked of a real or imitated cloud.
package mirrortest
