// Package exchange asks one DNS server one question, and says in words why there
// is no answer. Whom to ask next, and what an answer means, is for its users.
package exchange
