DROP TABLE IF EXISTS authsvc_credential;
DROP TABLE IF EXISTS authsvc_person;
