DROP TABLE authsvc_session;
DROP TABLE authsvc_mail;
DROP TABLE authsvc_once;
DROP TABLE authsvc_revocation;
DROP TABLE authsvc_meta;
